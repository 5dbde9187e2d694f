"""The stack of interpreters: who sees a call, in which order, and what they may do with it."""

import contextlib
import gc
import threading
import weakref

import pytest
from watching import Log, Witness

import clew
from clew import _core
from clew.nn import functional as F


def test_interpreters_stand_on_each_other():
    order = []

    def named(name):
        def handle(call):
            order.append(name)
            call.run()

        return _core.Interpreter(handle)

    below, above = named("below"), named("above")
    below.push()
    above.push()
    result = clew.ones(2)
    below.pop()  # from wherever it is
    result = result + 1
    above.pop()
    result = result + 1
    assert order == ["above", "below", "above"]
    assert result.tolist() == [3.0, 3.0]
    assert not _core.is_interpreted()


def test_what_an_interpreter_computes_itself_is_not_shown_to_it():
    seen = []

    def handle(call):
        seen.append(call.name)
        clew.ones(2).add_(1)
        call.run()

    interpreter = _core.Interpreter(handle)
    interpreter.push()
    clew.neg(clew.ones(3))
    interpreter.pop()
    assert seen == ["_full", "neg"]


def test_an_error_in_an_interpreter_comes_out_of_the_operation():
    def handle(call):
        raise KeyError(call.name)

    interpreter = _core.Interpreter(handle)
    x = clew.ones(2)
    interpreter.push()
    with pytest.raises(KeyError, match="add"):
        x + 1
    interpreter.pop()
    assert (x + 1).tolist() == [2.0, 2.0]


def test_a_call_has_to_be_run_and_is_over_afterwards():
    kept = []
    x = clew.ones(2)
    interpreter = _core.Interpreter(kept.append)
    interpreter.push()
    with pytest.raises(RuntimeError, match="neg: expected the interpreter to run"):
        clew.neg(x)
    interpreter.pop()
    with pytest.raises(RuntimeError, match="it is over"):
        kept[0].run()


def test_a_call_whose_error_is_swallowed_has_no_result():
    def handle(call):
        with contextlib.suppress(RuntimeError):
            call.run()

    x, y, interpreter = clew.ones(2), clew.ones(3), _core.Interpreter(handle)
    interpreter.push()
    with pytest.raises(RuntimeError, match="add: expected the interpreter to run"):
        x + y
    interpreter.pop()


def test_a_call_runs_once():
    def handle(call):
        call.run()
        call.run()

    interpreter = _core.Interpreter(handle)
    x = clew.ones(2)
    interpreter.push()
    with pytest.raises(RuntimeError, match="has run already"):
        x.add_(1)
    interpreter.pop()
    assert x.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("what", ["push", "pop"])
def test_the_stack_stays_as_it_is_while_a_call_is_handled(what):
    def handle(call):
        call.run()
        getattr(above if what == "pop" else _core.Interpreter(print), what)()

    below, above = Log(), _core.Interpreter(handle)
    with below:
        above.push()
        with pytest.raises(RuntimeError, match=f"{what}: expected no interpreter to be handling a call"):
            clew.ones(2)
        above.pop()
        clew.ones(2)
    assert below.names == ["_full", "_full"]
    assert not _core.is_interpreted()


def test_a_stack_belongs_to_its_thread():
    with Log() as log:
        thread = threading.Thread(target=lambda: clew.ones(2) + 1)
        thread.start()
        thread.join()
    assert log.calls == []


def test_an_interpreter_is_pushed_once():
    log = Log()
    with log, pytest.raises(RuntimeError, match="already"):
        log.interpreter.push()
    assert not _core.is_interpreted()


def test_an_interpreter_goes_with_its_handler():
    log = Log()
    reference = weakref.ref(log)
    del log
    gc.collect()
    assert reference() is None


def test_inference_mode_works_below_interpreters():
    with Log() as log, clew.inference_mode():
        x = clew.ones(2) + 1
    assert x.is_inference()
    assert log.names == ["_full", "add"]


def test_nothing_is_written_over_while_somebody_looks_on():
    x = clew.ones(100_000)
    with Log(keep=True) as log:
        y = (x * 2 + 1) * 3
    made = [made for _, _, _, made, _ in log.calls]
    assert len(set.union(*made)) == 3
    assert y.sum().item() == 900_000


def test_hooks_for_saved_tensors_are_shown_what_they_compute():
    """To all, while the call that runs them is under way; its results are there."""
    seen = []

    def handle(call):
        call.run()
        seen.append((call.name, call.inputs[0].tolist()))

    x = clew.tensor([0.0], requires_grad=True)
    with Log() as below:
        interpreter = _core.Interpreter(handle)
        interpreter.push()
        with clew.autograd.graph.saved_tensors_hooks(lambda kept: kept + 1, lambda packed: packed - 1):
            y = x.exp()
        y.backward()
        interpreter.pop()
    assert [name for name, _ in seen if name in ("add", "exp", "sub")] == ["add", "exp", "sub"]
    assert ("add", [1.0]) in seen
    assert [name for name in below.names if name in ("add", "exp", "sub")] == ["add", "exp", "sub"]
    assert x.grad.tolist() == [1.0]


def test_what_is_copied_before_a_write_is_shown():
    x = clew.tensor([3.0], requires_grad=True)
    with clew.autograd.graph.allow_mutation_on_saved_tensors():
        h = x * 1
        y = h * h
        with Log() as log:
            h.mul_(2)
        y.backward()
    assert log.names == ["clone", "mul_"]
    assert x.grad.tolist() == [6.0]


def test_the_generator_is_an_operand():
    """Of each call that draws, the one that it was given or that the thread has chosen."""
    own, seen = clew.Generator(), []

    def handle(call):
        seen.append((call.name, call.generator))
        call.run()

    interpreter = _core.Interpreter(handle)
    interpreter.push()
    clew.rand(2, generator=own)
    clew.rand(2)
    F.dropout(clew.ones(2), 0.5)
    interpreter.pop()
    assert seen[:2] == [("_rand", own._stream), ("_rand", _core.default_stream())]
    assert seen[2:] == [("_full", None), ("_dropout_noise", _core.default_stream()), ("mul", None)]


def test_a_witness_sees_what_passes_by():
    """A write by NumPy, and memory that is no result."""
    x, held = clew.zeros(3), []

    def write():
        x.numpy()[0] = 1
        clew.neg(x)

    thread = threading.Thread(target=lambda: held.append(clew.ones(3)))

    def make():
        thread.start()
        thread.join()

    for way, said in ((write, "before neg: memory is written"), (make, "at the end: memory appears")):
        with pytest.raises(AssertionError, match=said), Witness():
            way()
