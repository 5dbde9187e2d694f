"""No false alarm: the watch is silent under loops that hold graphs for good reasons, or none."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import correct_derivatives  # noqa: F401  (importing fills CORRECT)
import correct_recurrent  # noqa: F401
import correct_reinforcement  # noqa: F401
import correct_training  # noqa: F401
import pytest
from small_training import CORRECT

from clew.cli.held import find_held, kept_graphs
from clew.cli.recorder import Recorder
from clew.graph.explanations.explain import LIMIT
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


@pytest.mark.beyond
@pytest.mark.parametrize("loop", CORRECT, ids=[loop.__name__ for loop in CORRECT])
def test_silence_about_what_is_left(loop: Any) -> None:
    """The loop's variables are still there when the watch ends, and when `clew xray` says what is kept."""
    recorder = Recorder(LIMIT)
    recorder.start()
    try:
        with Watch() as watch:
            variables = run_as_a_script(loop)
    finally:
        recorder.stop()
    recorder.describe([variables])
    assert watch.warnings == []
    assert watch.failure is None
    assert list(kept_graphs(find_held([variables]), [], recorder.passes_through())) == []


def run_as_a_script(loop: Any) -> dict[str, Any]:
    """Its statements, at the top level of a module; gives the variables."""
    variables = dict(loop.__globals__)
    function = ast.parse(inspect.getsource(loop)).body[0]
    assert isinstance(function, ast.FunctionDef)
    module = ast.increment_lineno(ast.Module(function.body, []), loop.__code__.co_firstlineno - 1)
    exec(compile(module, loop.__code__.co_filename, "exec"), variables)
    return {name: value for name, value in variables.items() if name not in loop.__globals__}


def test_there_are_enough() -> None:
    assert len(CORRECT) >= 50
    assert len({loop.__name__ for loop in CORRECT}) == len(CORRECT)
