"""The watch itself: what it costs, keeps and says, and when."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from leaks import list_of_losses, running_loss
from small_training import batch, mse, step, trainer

import clew
from clew import _core
from clew.graph import GrowthWarning
from clew.graph.iterations.watch import Watch

pytestmark = [pytest.mark.beyond, pytest.mark.usefixtures("no_leak")]


def train(iterations: int, keep: list[Any] | None = None) -> None:
    model, optimizer = trainer()
    for _ in range(iterations):
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        if keep is not None:
            keep.append(loss)


def watched_quietly(function: Any, *arguments: Any, clock: Callable[[], float] | None = None) -> Watch:
    with Watch(clock=clock) as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(*arguments)
    assert watch.failure is None
    return watch


def hours_pass() -> Callable[[], float]:
    """A clock each reading of which is an hour after the last, so that as many looks are taken as one likes."""
    return itertools.count(0, 3600).__next__


def is_watching(watch: Watch) -> bool:
    """Whether one that looks always has seen another iteration."""
    before = watch.looks
    train(1)
    return watch.looks == before + 1


def test_it_watches_from_start_to_stop() -> None:
    watch = Watch(always=True)
    assert not is_watching(watch)
    with watch:
        assert is_watching(watch)
    assert not is_watching(watch)
    watch.start()
    assert watch.start() is watch
    assert is_watching(watch)
    watch.stop()
    watch.stop()
    assert not is_watching(watch)
    train(20, [])  # a warning would be an error


def test_it_stops_when_the_program_fails() -> None:
    watch = Watch(always=True)
    with pytest.raises(ZeroDivisionError), watch:
        raise ZeroDivisionError
    assert not is_watching(watch)


def test_it_is_held_while_it_watches_and_no_longer() -> None:
    gc.collect()
    gc.disable()
    try:
        gone = weakref.ref(clew.graph.watch().start())
        watch = gone()
        assert watch is not None
        watch.stop()
        del watch
        assert gone() is None
    finally:
        gc.enable()


def test_one_that_stops_itself_does_not_keep_another_from_seeing(monkeypatch: pytest.MonkeyPatch) -> None:
    failing, other = Watch(always=True), Watch(always=True)
    monkeypatch.setattr(failing, "_look_once", lambda *arguments: 1 / 0)
    with failing, other:
        train(1)
        assert failing.failure == "ZeroDivisionError('division by zero')"
        assert other.looks == 1


def test_text() -> None:
    (told,) = watched_quietly(running_loss).warnings
    assert str(told).startswith(
        "watch: expected an iteration's graph to be freed when the iteration ends, but `running_loss`"
    )
    assert f"the graphs of {told.iterations} iterations ({told.nodes} nodes, " in str(told)
    assert "leaks.py:" in str(told)
    assert " in running_loss. To do: " in str(told)
    assert ".item()" in str(told)


def test_advice_for_gradients() -> None:
    told = GrowthWarning(clew.graph.Place("train.py", 3, "main"), "w.grad", 18, 40, 1024)
    assert "zero_grad(set_to_none=True)" in str(told)
    assert "no variable references" in str(GrowthWarning(told.made_at, None, 18, 40, 1024))


def test_counts_are_those_of_the_graph() -> None:
    """Nodes and bytes, counted another way: by the engine, when what was held goes."""
    kept: list[Any] = []
    w = clew.randn(10, requires_grad=True)
    with clew.graph.watch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while not watch.warnings:
            y = (w * w).sum()
            y.backward(retain_graph=True)
            kept.append(y)
    (told,) = watch.warnings
    assert told.path == "kept"
    assert told.iterations == len(kept) - 1  # all but the one that has just ended
    node_bytes = sum(node.nbytes for node in clew.graph.walk([y.grad_fn]) if type(node).__name__ != "AccumulateGrad")
    assert told.nbytes == told.iterations * node_bytes + w.nbytes  # all have saved the same w
    before = _core.graph_counters()["nodes_alive"]
    kept[:] = [y]
    assert told.nodes == before - _core.graph_counters()["nodes_alive"]


def test_once_for_each_line() -> None:
    kept: list[Any] = []
    (told,) = watched_quietly(train, 100, kept).warnings
    assert told.path == "keep"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with clew.graph.watch() as watch:
            train(25, kept)
            train(25, kept)
    assert [one.message for one in caught] == watch.warnings
    assert len(watch.warnings) == 1


def test_two_lines_are_told_of_apart() -> None:
    model, optimizer = trainer()
    losses, outputs = [], []
    with clew.graph.watch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(20):
            x, y = batch()
            out = model(x)
            loss = mse(out, y)
            step(optimizer, loss)
            losses.append(loss)
            outputs.append(out)
    assert {told.path for told in watch.warnings} == {"losses", "outputs"}


def test_what_was_computed_from_the_cause_is_not_told_of() -> None:
    model, optimizer = trainer()
    losses, means = [], []
    with clew.graph.watch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(20):
            x, y = batch()
            loss = mse(model(x), y)
            step(optimizer, loss)
            losses.append(loss)
            mean = clew.stack(losses).mean()
            means[:] = [mean]
    assert [told.path for told in watch.warnings] == ["losses"]


@pytest.mark.parametrize("before", [1, 2, 3, 6, 50])
def test_a_leak_that_begins_later(before: int) -> None:
    def program() -> None:
        train(before)
        list_of_losses()

    (told,) = watched_quietly(program).warnings
    assert told.path == "losses"


def test_every_fifth_iteration() -> None:
    model, optimizer = trainer()
    logged = []
    with Watch(clock=hours_pass()) as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(5 * 20):
            x, y = batch()
            loss = mse(model(x), y)
            step(optimizer, loss)
            if number % 5 == 0:
                logged.append(loss)
    assert [told.path for told in watch.warnings] == ["logged"]


def test_graphs_that_could_be_waiting_get_more_time() -> None:
    """Scores of another network, which nothing has run: an episode could be this long, but not for ever."""
    other = clew.randn(4, requires_grad=True)
    model, optimizer = trainer()
    scores: list[Any] = []

    def program(iterations: int) -> None:
        for _ in range(iterations):
            x, y = batch()
            scores.append((x @ other).sum())
            step(optimizer, mse(model(x), y))

    assert watched_quietly(program, 150, clock=hours_pass()).warnings == []
    scores.clear()
    assert [told.path for told in watched_quietly(program, 400, clock=hours_pass()).warnings] == ["scores"]


def test_it_keeps_nothing_alive() -> None:
    class Marked:
        pass

    mark = Marked()
    gone = weakref.ref(mark)

    def program(mark: Any) -> None:
        kept: list[Any] = []
        train(25, kept)
        seen = weakref.ref(kept[0])
        kept.clear()
        assert seen() is None, "a copy of the variables, or the watch, holds it"
        del mark

    gc.collect()
    gc.disable()
    try:
        before = _core.graph_counters()["nodes_alive"]
        watch = clew.graph.watch().start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(mark)
        del mark
        assert len(watch.warnings) == 1
        assert gone() is None
        assert _core.graph_counters()["nodes_alive"] == before
        watch.stop()
    finally:
        gc.enable()


def test_variables_of_the_caller_are_left_alone() -> None:
    def program() -> dict[str, Any]:
        first, second = 1, [2]
        mine = locals()
        mine["added"] = 3
        kept: list[Any] = []
        train(25, kept)
        assert (first, second) == (1, [2])
        return mine

    mine: dict[str, Any] = {}
    watched_quietly(lambda: mine.update(program()))
    assert mine["added"] == 3
    assert mine["second"] == [2]


def test_a_failure_of_its_own_stops_only_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(sys.modules["clew.graph.iterations.watch"], "Look", broken)
    with clew.graph.watch() as watch:
        train(25)
        assert not watch._is_on
    assert watch.failure == "RuntimeError('broken')"
    assert gc.isenabled()


def test_a_clock_that_fails_stops_only_the_watch() -> None:
    readings = iter([0.0, 1.0])  # when it is made, and when it starts
    with Watch(clock=readings.__next__) as watch:
        train(25)
        assert not watch._is_on
    assert watch.failure == "StopIteration()"


def test_what_cannot_be_an_option_is_refused_at_once() -> None:
    with pytest.raises(RuntimeError, match="ambiguous"):
        Watch(warn=clew.ones(2))  # type: ignore[arg-type]


def test_under_an_error_filter_it_raises_and_the_program_can_go_on() -> None:
    kept: list[Any] = []
    with clew.graph.watch() as watch:
        with pytest.raises(GrowthWarning):
            train(25, kept)
        kept.clear()
        train(25)
    assert watch.failure is None
    assert len(watch.warnings) == 1


def test_recording_switched_off_by_function() -> None:
    def program() -> None:
        model, optimizer = trainer()
        kept = []
        for _ in range(25):
            x, y = batch()
            with clew.set_grad_enabled(False):
                kept.append(model(x))
            with clew.set_grad_enabled(True):
                step(optimizer, mse(model(x), y))

    assert watched_quietly(program).warnings == []


def test_loops_in_threads() -> None:
    lists: list[list[Any]] = [[], []]
    with clew.graph.watch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=train, args=(60, kept)) for kept in lists]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert watch.failure is None
    assert len(watch.warnings) == 1
    del threads, thread


def test_a_script_sees_it_on_its_error_stream(tmp_path: Any, script_environment: Any) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import clew\n"
        "w = clew.ones(3, requires_grad=True)\n"
        "total = 0.0\n"
        "with clew.graph.watch():\n"
        "    for _ in range(20):\n"
        "        loss = (w * w).sum()\n"
        "        loss.backward()\n"
        "        total += loss\n"
    )
    done = subprocess.run([sys.executable, script], env=script_environment, capture_output=True, text=True, check=True)
    assert "train.py:8: GrowthWarning: watch: expected" in done.stderr
    assert "`total` keeps the graphs of 18 iterations" in done.stderr
    assert done.stderr.rstrip().endswith("total += loss")


def evaluate(watch: Watch, rounds: int, *, trains: bool = False) -> list[Any]:
    """An evaluation that forgets `no_grad()`."""
    model, losses = clew.nn.Linear(4, 1), []
    with watch:
        if trains:
            model(clew.ones(3, 4)).mean().backward()
        for _ in range(rounds):
            losses.append(model(clew.ones(3, 4)).mean())
    return losses


@pytest.mark.parametrize(("rounds", "trains"), [(18, False), (200, True)])
def test_graphs_that_no_backward_comes_to_are_told_in_the_end(rounds: int, trains: bool) -> None:
    watch = Watch()
    with pytest.warns(GrowthWarning, match="`losses` keeps the graphs of"):
        losses = evaluate(watch, rounds, trains=trains)
    (told,) = watch.warnings
    assert (told.path, told.iterations, told.nodes) == ("losses", rounds, sum(3 for _ in losses))
    assert told.made_at.function == "evaluate"


@pytest.mark.parametrize(("rounds", "trains"), [(17, False), (199, True)])
def test_fewer_may_wait_for_theirs(rounds: int, trains: bool) -> None:
    watch = Watch()
    assert len(evaluate(watch, rounds, trains=trains)) == rounds
    assert watch.warnings == []


def test_one_graph_of_many_numbers_is_one() -> None:
    states = [clew.ones((), requires_grad=True)]
    with Watch() as watch:
        for _ in range(50):
            states.append(states[-1] * 1.01)
    assert watch.warnings == []


def test_a_recording_does_not_see_what_the_watch_reads() -> None:
    """It reads the `.grad` of every leaf; those that the block does not use may change before it is run again."""
    x = clew.tensor([1.0, 2.0], requires_grad=True)
    other = clew.tensor([3.0], requires_grad=True)
    with Watch(), clew.keep_graph() as program:
        (slope,) = clew.autograd.grad((x**3).sum(), [x], create_graph=True)
        result = (slope * slope).sum()
    (5.0 * other).sum().backward()
    with clew.no_grad():
        x.mul_(2)
    program.run()
    assert result.item() == 9 * (2**4 + 4**4)
