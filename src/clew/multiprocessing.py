"""Python's `multiprocessing` under the name of `torch.multiprocessing`: tensors travel by pickling.

In PyTorch a tensor that is sent shares its memory with the receiver; here the receiver gets a copy.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.queues
import sys
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ._core import Tensor

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

_strategy = "file_descriptor"


def _reduce(tensor: Tensor) -> Any:
    """A history does not go to another process. Elsewhere a pickle leaves it out, which would be no help there."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries. If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    return tensor.__reduce_ex__(2)


ForkingPickler.register(Tensor, _reduce)


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes.

    Example:
        >>> sorted(clew.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The name that `set_sharing_strategy` set; nothing depends on it.

    Example:
        >>> clew.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted, without effect.

    Raises:
        AssertionError: another name.

    Example:
        >>> clew.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(
            f"set_sharing_strategy: expected one of {sorted(get_all_sharing_strategies())}, got {new_strategy!r}"
        )
    _strategy = new_strategy


class ProcessException(Exception):
    """A process that was spawned failed: the base of the two below. `error_index` is its number, `error_pid` its id."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = self.pid = pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process that was spawned raised; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process that was spawned ended with another exit code than 0, or by a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], number: int, arguments: tuple[Any, ...], errors: Any) -> None:
    try:
        function(number, *arguments)
    except KeyboardInterrupt:
        pass  # the parent has it, too
    except Exception:
        errors.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes that `spawn` started."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self._errors = errors

    def pids(self) -> list[int]:
        """Their process numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one ends. True if all have ended well; if one failed, the others are ended and this raises.

        Raises:
            ProcessRaisedException: a process raised.
            ProcessExitedException: a process ended otherwise.
        """
        running = [process for process in self.processes if process.is_alive()]
        if running:
            multiprocessing.connection.wait([process.sentinel for process in running], timeout)
        failed = next((i for i, process in enumerate(self.processes) if process.exitcode not in (None, 0)), None)
        if failed is None:
            return all(process.exitcode == 0 for process in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period)
        raise self._failure(failed)

    def _failure(self, number: int) -> ProcessException:
        process = self.processes[number]
        try:
            trace = self._errors[number].recv()
        except EOFError:  # it wrote none
            pass
        else:
            text = f"\n\n-- Process {number} terminated with the following error:\n{trace}"
            return ProcessRaisedException(text, number, process.pid)
        if process.exitcode < 0:
            import signal

            name = signal.Signals(-process.exitcode).name
            text = f"process {number} terminated with signal {name}"
            return ProcessExitedException(text, number, process.pid, process.exitcode, name)
        text = f"process {number} terminated with exit code {process.exitcode}"
        return ProcessExitedException(text, number, process.pid, process.exitcode)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: Any = "spawn",
) -> ProcessContext | None:
    """Start ``nprocs`` processes that call ``fn(i, *args)``; wait for them, or return a :class:`ProcessContext`."""
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for number in range(nprocs):
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, number, args, writer), daemon=daemon)
        process.start()
        writer.close()
        processes.append(process)
        errors.append(reader)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """:func:`start_processes` with the start method ``spawn``."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
