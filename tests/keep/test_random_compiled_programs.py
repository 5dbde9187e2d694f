"""6.3: random programs as compiled functions, with new data four times: values, gradients and state are eager's."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "fuzz"))

import fuzz_compiled

pytestmark = [
    pytest.mark.beyond,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.may_leak,
    pytest.mark.records_calls,
]


@pytest.fixture(autouse=True)
def one_thread(oracle):
    """PyTorch's, which helps to draw programs."""


@pytest.mark.unsanitized("two parts of the random programs are enough", cases=r"\[[2-7]\]")
@pytest.mark.parametrize("part", range(8))
def test_compiled_programs_are_as_eager(part):
    replayed = 0
    for place in range(part * 40, part * 40 + 40):
        outcome = fuzz_compiled.check(f"c:{place}")
        if outcome is None:
            continue
        assert not outcome.differences, fuzz_compiled.statements_of(f"c:{place}")
        replayed += outcome.hits > 0
    assert replayed > 4
