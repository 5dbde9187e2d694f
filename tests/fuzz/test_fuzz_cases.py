"""What the fuzzer once found, and that it would find it again."""

import contextlib
from pathlib import Path

import fuzz_deviations
import fuzz_programs
import fuzz_session
import fuzz_shrink
import pytest

import clew

# It compares clew with PyTorch, whatever the module under test; both warn of what programs do.
pytestmark = [pytest.mark.beyond, pytest.mark.filterwarnings("ignore")]

CASES = [
    line
    for line in (Path(__file__).parent / "cases.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
]


@pytest.fixture(autouse=True)
def one_thread(oracle):
    """PyTorch's, as it was set up."""


@pytest.mark.parametrize("line", CASES)
def test_both_do_the_same(line):
    found = fuzz_session.run_program(fuzz_session.split(line), allowed=fuzz_deviations.allowed)
    assert found is None, f"{found.key()}: {found.text}\nafter {found.statement}"


@pytest.mark.parametrize(
    ("broken", "aspect"),
    [
        (lambda *tensors: clew.exp(*tensors) * 1.001, "value"),
        (lambda tensor: tensor.detach().exp(), "requires_grad"),
        (lambda tensor: tensor.exp().double(), "dtype"),
        (lambda tensor: clew.empty_strided((2, 3), (1, 2)).copy_(tensor.exp()), "strides"),
        (lambda tensor: 1 / 0, "raises"),
    ],
)
def test_a_difference_is_found_and_made_small(monkeypatch, broken, aspect):
    monkeypatch.setattr(clew, "exp2", broken)
    line = "a = torch.ones(2, 3, requires_grad=True); b = a.t(); d = a + 1; c = torch.exp2(a); e = c.sum()"

    def allowed(difference):
        return difference.operation != "exp2" or difference.aspect.startswith("node")

    found = fuzz_session.run_program(fuzz_session.split(line), allowed=allowed)
    assert found is not None
    assert found.aspect == aspect
    small = fuzz_shrink.shrink(found, allowed)
    assert small.operation == "exp2"
    assert len(small.program) == 2


def test_the_same_seed_draws_the_same_program():
    programs = []
    for _ in range(2):
        program = fuzz_programs.Program("seed", allowed=lambda _: True)
        with contextlib.suppress(fuzz_session.Unsupported):
            program.grow()
        programs.append(program.session.program)
    assert programs[0] == programs[1]
