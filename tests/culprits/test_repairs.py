"""The smallest repair is one: each program of the corpus for which there is one runs when it is made."""

from __future__ import annotations

import linecache
import types
import warnings

import in_place
import lost_history
import pytest
import second_backward
from corpus import programs_of

import clew
from clew.graph.explanations.failures import reason_of
from clew.graph.explanations.repairs import parties_of, repair_of

PROGRAMS = [program for module in (second_backward, in_place, lost_history) for program in programs_of(module.__name__)]

WRITES_TWICE = {"running_statistic_updated_after_use"}  # the error knows the last write


def error_of(program):
    with pytest.raises(Exception) as caught, warnings.catch_warnings(action="ignore"):  # noqa: PT011
        program.run(clew)
    return reason_of(caught.value)


def run_repaired(repair):
    """The module, with the change made."""
    lines = []
    for number, line in enumerate(linecache.getlines(repair.file), 1):
        lines += [f"{new}\n" for new in repair.changes[number]] if number in repair.changes else [line]
    module = types.ModuleType("repaired")
    linecache.cache["repaired.py"] = (0, None, lines, "repaired.py")
    exec(compile("".join(lines), "repaired.py", "exec"), vars(module))
    return module


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_is_repaired_runs(program):
    error = error_of(program)
    repair = repair_of(error)
    if repair is None:
        pytest.skip("no change of a line is sure to be right")
    changed = [line for line in repair.diff.splitlines() if line[:1] in "+-"]
    assert changed
    run = getattr(run_repaired(repair), program.name).run
    with warnings.catch_warnings(action="ignore"):
        if program.name not in WRITES_TWICE:
            run(clew)
            return
        with pytest.raises(clew.autograd.errors.InplaceError) as caught:
            run(clew)
    assert caught.value.written_at.line < error.written_at.line  # one write less


@pytest.mark.parametrize(("module", "least"), [(second_backward, 8), (in_place, 24), (lost_history, 3)])
def test_many_have_one(module, least):
    found = [repair_of(error_of(program)) for program in programs_of(module.__name__)]
    assert sum(repair is not None for repair in found) >= least


SCRIPTS = {
    "h = w.exp()\ntorch.relu_(h)\nh.sum().backward()": "write `h = torch.relu(h)`",
    "class C: pass\nc = C()\nc.h = w.exp()\nc.h.add_(1)\nc.h.sum().backward()": "write `c.h = c.h.add(1)`",
    "m = torch.ones(2)\ny = w * m\nm.zero_()\ny.sum().backward()": "move `m.zero_()` from script.py:5 to after line 6",
    "for _ in range(2):\n    w.clamp_(\n        0, 1)": "write `with torch.no_grad():` before script.py:4",
    "w[0] = 1.0": "write `with torch.no_grad():` before script.py:3",
    "loss = (w * w).sum()\nopt.step()\nloss.backward()": "move `loss = (w * w).sum()` from script.py:4 to after line 5",
}


@pytest.mark.parametrize("text", SCRIPTS)
def test_scripts(tmp_path, text):
    path = tmp_path / "script.py"
    start = "opt = torch.optim.SGD([w]); w.grad = torch.ones(2)\n" if "opt." in text else ""
    path.write_text(f"import clew as torch\nw = torch.ones(2, requires_grad=True)\n{start}{text}\n")
    with pytest.raises(RuntimeError) as caught:
        exec(compile(path.read_text(), str(path), "exec"), {})
    repair = repair_of(caught.value)
    assert repair.title.startswith(SCRIPTS[text])
    run_repaired(repair)


def test_a_write_that_something_needs_stays_where_it_is(tmp_path):
    """`m` is read between the write and the backward: what is computed would be another value."""
    path = tmp_path / "script.py"
    path.write_text(
        "import clew\nw = clew.ones(2, requires_grad=True)\nm = clew.ones(2)\ny = w * m\nm.zero_()\nz = m + 1\n"
        "y.sum().backward()\n"
    )
    with pytest.raises(RuntimeError) as caught:
        exec(compile(path.read_text(), str(path), "exec"), {})
    assert repair_of(caught.value).title == "write `m = m.clone()` before script.py:5"


def test_the_parties_of_a_write():
    x = clew.ones(3, requires_grad=True)
    y = x.exp()  # saves
    y += 1  # writes
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    parties = parties_of(caught.value)
    told = {what: linecache.getline(file, line).partition("# ")[2].strip() for what, file, line, _ in parties}
    assert told == {"saved here": "saves", "written here": "writes"}
    assert repair_of(caught.value).title.startswith("write `y = y + 1` at test_repairs.py:")
