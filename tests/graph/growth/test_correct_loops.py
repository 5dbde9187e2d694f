"""No false alarm: the watch is silent under loops that hold graphs for good reasons, or none."""

from __future__ import annotations

from typing import Any

import correct_derivatives  # noqa: F401  (importing fills CORRECT)
import correct_recurrent  # noqa: F401
import correct_reinforcement  # noqa: F401
import correct_training  # noqa: F401
import pytest
from small_training import CORRECT

from clew.graph.iterations.watch import Watch

RUN_ONE_GRAPH = ("one_graph_run_many_times", "rows_of_a_jacobian")  # they make nothing, so that no iteration ends


@pytest.mark.beyond
@pytest.mark.usefixtures("no_leak")
@pytest.mark.parametrize("always", [False, True], ids=["as scheduled", "after each iteration"])
@pytest.mark.parametrize("loop", CORRECT, ids=[loop.__name__ for loop in CORRECT])
def test_silence(loop: Any, always: bool) -> None:
    """Silence must not depend on when it looks, which depends on the machine."""
    with Watch(always=always) as watch:
        loop()  # a warning would be an error
    assert watch.warnings == []
    assert watch.failure is None
    assert watch.looks >= 1 or loop.__name__ in RUN_ONE_GRAPH, "it was silent because it never looked"


def test_there_are_enough() -> None:
    assert len(CORRECT) >= 50
    assert len({loop.__name__ for loop in CORRECT}) == len(CORRECT)
