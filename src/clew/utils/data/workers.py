"""A loader's side of its worker processes: what is asked of whom, and in which order answers are given."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing import connection as connections
from multiprocessing.connection import Connection
from typing import Any

from . import transfer
from .worker import FETCH, RESTART, End, Failure, Task, run

_SECONDS_TO_LEAVE = 5.0


class Workers:
    """Processes that answer requests, each in the order in which they were asked.

    Args:
        tasks: one for each worker.
        context: of `multiprocessing`: a name ("fork", "spawn", "forkserver"), a context, or None for Python's default.
        timeout: seconds to wait for an answer; 0 without limit.
    """

    def __init__(self, tasks: list[Task], context: Any, timeout: float) -> None:
        made: Any = multiprocessing.get_context(context) if context is None or isinstance(context, str) else context
        self._timeout = timeout
        self._connections: list[Connection] = []
        self._processes: list[Any] = []
        self.stop = weakref.finalize(self, _stop, os.getpid(), self._connections, self._processes)
        for task in tasks:
            mine, theirs = made.Pipe()
            process = made.Process(target=run, args=(task, theirs), daemon=True)
            process.start()
            theirs.close()
            self._connections.append(mine)
            self._processes.append(process)

    def __len__(self) -> int:
        return len(self._processes)

    def ask(self, worker: int, kind: str, wanted: Any = None) -> None:
        """Send a request."""
        try:
            self._connections[worker].send((kind, wanted))
        except (BrokenPipeError, ConnectionResetError):
            raise self._death_of(worker) from None

    def first_answer(self, among: list[int]) -> tuple[int, Any]:
        """Wait until one of these workers answers: which, and its answer.

        Raises:
            RuntimeError: a worker died, or none answered in time.
        """
        ready = self._wait(among)
        for worker in among:
            if self._connections[worker] in ready:
                try:
                    return worker, transfer.receive(self._connections[worker])
                except (EOFError, ConnectionResetError):
                    raise self._death_of(worker) from None
        raise self._death_of(next(worker for worker in among if self._processes[worker].sentinel in ready))

    def _wait(self, among: list[int]) -> list[Any]:
        things = [thing for worker in among for thing in (self._connections[worker], self._processes[worker].sentinel)]
        ready = connections.wait(things, self._timeout or None)
        if not ready:
            self.stop()
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        return ready

    def _death_of(self, worker: int) -> RuntimeError:
        process = self._processes[worker]
        process.join(_SECONDS_TO_LEAVE)
        code, pid = process.exitcode, process.pid
        self.stop()
        if code is not None and code < 0:
            return RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(-code)}.")
        return RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly with exit code {code}")


def _stop(owner: int, links: list[Connection], processes: list[Any]) -> None:
    """Ask all to leave; end those that do not."""
    if os.getpid() != owner:
        return  # a forked copy is being collected
    for connection in links:
        with contextlib.suppress(OSError):  # it may have gone already
            connection.send(None)
        connection.close()
    deadline = time.monotonic() + _SECONDS_TO_LEAVE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.terminate()
            process.join()


class WorkersIterator:
    """One pass over a dataset after the other, loaded by workers; the iterator that a loader gives.

    Args:
        workers: who loads.
        make_order: starts the sampler for another pass.
        prefetch: requests that a worker has ahead of it.
        in_order: whether batches come as the sampler says, or as they are ready.
        keep: the workers stay for the next pass.
    """

    def __init__(
        self,
        workers: Workers,
        make_order: Callable[[], Iterator[Any]],
        prefetch: int,
        in_order: bool,
        keep: bool,
    ) -> None:
        self._workers, self._make_order, self._prefetch = workers, make_order, prefetch
        self._in_order, self._keep = in_order, keep
        self._begin()

    def restart(self) -> None:
        """Begin another pass with the same workers; what was left of the last one is dropped."""
        while self._asked:
            worker, _ = self._workers.first_answer([self._asked[0]])
            self._asked.remove(worker)
        for worker in range(len(self._workers)):
            self._workers.ask(worker, RESTART)
        for worker in range(len(self._workers)):
            self._workers.first_answer([worker])
        self._begin()

    def _begin(self) -> None:
        self._order: Iterator[Any] | None = self._make_order()
        self._asked: deque[int] = deque()  # of whom each batch that is to come was asked
        self._active = list(range(len(self._workers)))  # whose stream has not ended
        self._next = 0
        self._is_over = False
        for _ in range(self._prefetch * len(self._workers)):
            self._ask_for_another()

    def _ask_for_another(self, worker: int | None = None) -> None:
        """Of `worker`, or of the one that is next."""
        if self._order is None or not self._active:
            return
        try:
            wanted = next(self._order)
        except StopIteration:
            self._order = None
            return
        if worker is None or worker not in self._active:
            worker = self._whose_turn()
        self._workers.ask(worker, FETCH, wanted)
        self._asked.append(worker)

    def _whose_turn(self) -> int:
        worker = next((worker for worker in self._active if worker >= self._next), self._active[0])
        self._next = worker + 1
        return worker

    def __iter__(self) -> WorkersIterator:
        return self

    def __next__(self) -> Any:
        while self._asked:
            worker, answer = self._workers.first_answer(
                [self._asked[0]] if self._in_order else list(dict.fromkeys(self._asked))
            )
            self._asked.remove(worker)
            if isinstance(answer, End):
                if worker in self._active:
                    self._active.remove(worker)
                self._ask_for_another()
                continue
            self._ask_for_another(None if self._in_order else worker)
            if isinstance(answer, Failure):
                answer.throw()
            return answer
        self._finish()
        raise StopIteration

    def _finish(self) -> None:
        if not self._is_over and not self._keep:
            self._workers.stop()
        self._is_over = True
