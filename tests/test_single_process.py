"""What programs ask of compilers, exporters and other processes: there where it can be, an honest no where not."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
import warnings
from typing import Any

import pytest

import clew
from clew import jit
from clew import multiprocessing as mp


@pytest.fixture
def nothing_said() -> Any:
    jit._said.clear()
    yield
    jit._said.clear()


@pytest.mark.usefixtures("nothing_said")
def test_scripting_gives_the_function_back_and_says_so_once() -> None:
    def double(x: Any) -> Any:
        return x * 2

    model = clew.nn.Linear(2, 2)
    for compile_, name in (
        (clew.jit.script, "torch.jit.script"),
        (clew.jit.trace, "torch.jit.trace"),
        (clew.jit.trace_module, "torch.jit.trace_module"),
    ):
        for given in (double, model):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                args = (clew.ones(2),) if "trace" in name else ()
                assert compile_(given, *args) is given
            assert [str(one.message).partition(":")[0] for one in caught] == [name] * (given is double)
            assert all(one.filename == __file__ for one in caught)


def test_decorators_that_change_nothing() -> None:
    def f() -> int:
        return 3

    for decorator in (jit.unused, jit.ignore, jit.export, jit.script_if_tracing, jit.ignore(drop=True), jit.interface):
        assert decorator(f) is f
    assert clew.compiler.disable(f) is f
    assert clew.compiler.disable(recursive=False)(f) is f


def test_questions_are_answered_with_no() -> None:
    assert not jit.is_scripting()
    future = jit.fork(lambda x, scale: x * scale, 3, scale=2)
    assert jit.wait(future) == 6
    with pytest.raises(ZeroDivisionError):
        jit.fork(lambda: 1 / 0)
    assert not jit.is_tracing()
    assert not clew.compiler.is_compiling()
    assert clew.distributed.is_available() == (importlib.util.find_spec("mpi4py") is not None)
    assert not clew.distributed.is_initialized()
    assert not clew.onnx.is_in_onnx_export()
    assert not isinstance(clew.ones(1), clew.fx.Proxy)
    assert not issubclass(clew.nn.Linear, jit.ScriptModule)
    assert jit.isinstance([1], list[int])
    assert not jit.isinstance([1], dict[str, int])
    assert jit.annotate(list[int], [1]) == [1]


def test_what_cannot_work_says_so() -> None:
    for call in (
        lambda: clew.onnx.export(None, (), "model.onnx"),
        lambda: clew.jit.load("model.pt"),
        lambda: clew.distributed.init_device_mesh("cpu", (1,)),
    ):
        with pytest.raises(NotImplementedError, match="clew does not have it"):
            call()
    with pytest.raises(RuntimeError, match="evaluation mode"):
        jit.freeze(clew.nn.Linear(1, 1))


def test_without_a_process_group_no_module_is_distributed(oracle: Any) -> None:
    for m in (clew, oracle):
        assert not isinstance(m.nn.Linear(1, 1), m.nn.parallel.DistributedDataParallel)
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            m.nn.parallel.DistributedDataParallel(m.nn.Linear(1, 1))


def test_data_parallel_on_one_device(oracle: Any) -> None:
    inner = clew.nn.Linear(3, 2)
    model = clew.nn.DataParallel(inner, device_ids=[0])
    theirs = oracle.nn.DataParallel(oracle.nn.Linear(3, 2))
    assert list(model.state_dict()) == list(theirs.state_dict())
    x = clew.randn(4, 3)
    assert clew.equal(model(x), inner(x))
    assert clew.equal(clew.nn.parallel.data_parallel(inner, x), inner(x))
    parts = clew.nn.parallel.scatter(x, [0, 1])
    both = clew.nn.parallel.parallel_apply(clew.nn.parallel.replicate(inner, [0, 1]), parts)
    assert clew.allclose(clew.nn.parallel.gather(both), inner(x))


@pytest.mark.parametrize("name", ["torch", "clew"])
def test_futures(name: str) -> None:
    futures = pytest.importorskip(name).futures
    first, second = futures.Future(), futures.Future()
    together = futures.collect_all([first, second])
    doubled = first.then(lambda done: done.value() * 2)
    failed = first.then(lambda done: 1 // 0)
    seen: list[int] = []
    first.add_done_callback(lambda done: seen.append(done.wait()))
    assert not first.done()
    with pytest.raises(RuntimeError):
        first.value()
    threading.Timer(0.05, first.set_result, [3]).start()
    assert doubled.wait() == 6
    assert not together.done()
    second.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        together.wait()
    with pytest.raises(ValueError, match="no"):
        futures.wait_all([first, second])
    with pytest.raises(Exception, match=r"division|ZeroDivision"):
        failed.wait()
    with pytest.raises(RuntimeError, match="completed"):
        first.set_result(4)
    end = time.monotonic() + 10  # PyTorch calls back from another thread
    while not seen and time.monotonic() < end:
        time.sleep(0.01)
    assert seen == [3]
    assert futures.wait_all([]) == []


def raises_or_dies(number: int, how: str) -> None:
    if how == "raise" and number == 1:
        raise ValueError("the second one")
    if how == "kill" and number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit" and number == 1:
        os._exit(3)


def test_processes_are_started_and_their_failures_named() -> None:
    mp.spawn(raises_or_dies, args=("",), nprocs=2, start_method="fork")
    with pytest.raises(
        mp.ProcessRaisedException, match=r"Process 1 terminated[\s\S]*ValueError: the second one"
    ) as raised:
        mp.start_processes(raises_or_dies, ("raise",), nprocs=2, start_method="fork")
    assert raised.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="signal SIGKILL"):
        mp.start_processes(raises_or_dies, ("kill",), nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="exit code 3"):
        mp.start_processes(raises_or_dies, ("exit",), nprocs=2, start_method="fork")
    started = mp.start_processes(raises_or_dies, ("",), nprocs=1, join=False, start_method="fork")
    assert started is not None
    while not started.join(10):
        pass
    assert len(started.pids()) == 1


def test_tensors_travel_through_a_queue() -> None:
    context = mp.get_context("fork")
    queue = context.SimpleQueue()
    queue.put(clew.arange(3))
    assert queue.get().tolist() == [0, 1, 2]
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="expected one of"):
        mp.set_sharing_strategy("telepathy")
