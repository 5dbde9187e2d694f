"""5 Every program of the corpus ends in an error that names the culprit in its fields."""

import contextlib
import warnings
from pathlib import Path

import in_place
import lost_history
import nan_gradients
import pytest
import second_backward
from corpus import NOT_FINITE, SAME, WRONG, programs_of

MODULES = (second_backward, in_place, lost_history, nan_gradients)
PROGRAMS = [program for module in MODULES for program in programs_of(module.__name__)]
README = Path(__file__).parents[2] / "README.md"
ids = [f"{program.kind}-{program.name}" for program in PROGRAMS]

# Where the field of a mark is not called `<mark>_at`.
FIELD_OF_MARK = {"where": "through_where", "read": "number_read_at"}
ERRORS = {
    "second_backward": ("GraphFreedError", "Trying to backward through the graph a second time"),
    "in_place": ("InplaceError", "has been modified by an inplace operation"),
    "lost_history": ("NoGradError", "element 0 of tensors does not require grad and does not have a grad_fn"),
    "nan_gradients": ("NonFiniteError", "returned nan"),
}


def run(program, torch):
    """Runs a program as its user would; only the search for NaN needs a mode."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the mode is slow, that a tensor is made a number
        if program.kind != "nan_gradients":
            return program.run(torch)
        with torch.autograd.detect_anomaly():
            return program.run(torch)


def test_the_corpus_is_large_enough():
    assert len(PROGRAMS) >= 60
    assert {program.kind for program in PROGRAMS} == set(ERRORS)
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)


def test_the_readme_counts_them():
    said = README.read_text(encoding="utf-8")
    wrong = sum(program.in_torch == WRONG for program in PROGRAMS)
    assert f"of {len(PROGRAMS)} wrong programs in `tests/culprits` | [{len(PROGRAMS)}](docs/errors.md) | 0:" in said
    assert f"a wrong gradient ({wrong} of those {len(PROGRAMS)})" in said


@pytest.mark.beyond
@pytest.mark.parametrize("program", PROGRAMS, ids=ids)
def test_5_the_culprit_is_named(torch, program):
    name, message = ERRORS[program.kind]
    with pytest.raises(getattr(torch.autograd.errors, name), match=message) as caught:
        run(program, torch)
    error = caught.value
    told = {field: getattr(error, field) for field in program.fields}
    if "node" in told:
        told["node"] = error.node.name()
    assert told == program.fields
    for mark, line in program.lines.items():
        site = getattr(error, FIELD_OF_MARK.get(mark, f"{mark}_at"))
        assert site is not None, f"nothing is told for '{mark}': {error}"
        assert (site.file, site.line) == (program.file, line), f"{mark}: {error}"


@pytest.mark.beyond
@pytest.mark.parametrize("program", PROGRAMS, ids=ids)
def test_5_the_message_has_every_line_that_the_fields_have(torch, program):
    with pytest.raises(RuntimeError) as caught:
        run(program, torch)
    text = str(caught.value)
    for mark, line in program.lines.items():
        assert f"{program.kind}.py:{line}" in text, f"the line marked {mark} is missing"
    assert "To do: " in text


@pytest.mark.parametrize("program", PROGRAMS, ids=ids)
def test_the_record_of_what_pytorch_does(oracle, program):
    """PyTorch's answer to each program is as its decorator says."""
    message = ERRORS[program.kind][1]
    expects_error = program.in_torch == SAME
    with pytest.raises(RuntimeError, match=message) if expects_error else contextlib.nullcontext() as caught:
        result = run(program, oracle)
    assert not caught or f"{program.kind}.py" not in str(caught.value)
    if program.in_torch == WRONG:
        gradient, right = result
        assert not oracle.equal(gradient, right)
    elif program.in_torch == NOT_FINITE:
        assert not result.isfinite().all()
    else:
        assert expects_error
