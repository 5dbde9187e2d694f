"""6.2: random programs, run again with new data three times: values, gradients and state are eager's, to the bit."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "fuzz"))

import fuzz_kept

pytestmark = [pytest.mark.beyond, pytest.mark.filterwarnings("ignore"), pytest.mark.may_leak]


@pytest.fixture(autouse=True)
def one_thread(oracle):
    """PyTorch's, which helps to draw programs."""


@pytest.mark.unsanitized("two parts of the random programs are enough", cases=r"\[[2-7]\]")
@pytest.mark.parametrize("part", range(8))
def test_kept_programs_are_as_eager(part):
    replayed = forwards = kept = 0
    for place in range(part * 25, part * 25 + 25):
        outcome = fuzz_kept.check(f"k:{place}")
        if outcome is None:
            continue
        assert not outcome.differences, fuzz_kept.statements_of(f"k:{place}")
        kept += outcome.kept
        replayed += outcome.replays
        forwards += outcome.forwards
    assert kept > 5
    assert replayed > 15
    assert forwards > 5
