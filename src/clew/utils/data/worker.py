"""What a worker process of a loader runs."""

from __future__ import annotations

import contextlib
import os
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy

import clew

from . import transfer
from .fetch import EndOfStream, Fetcher

_SECONDS_BETWEEN_LOOKS = 5.0  # at whether the process that wants the batches still lives


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker may know of itself.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: of its default generator: the loader's seed plus its number.
        dataset: its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """What this worker process may know of itself; None in the main process.

    Example:
        >>> torch.utils.data.get_worker_info() is None
        True
    """
    return _info


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of NumPy's generator in a worker: four numbers of 32 bits."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in numpy.random.SeedSequence(words).generate_state(4)]


@dataclass(frozen=True)
class Task:
    """All that a worker needs to know to begin."""

    id: int
    num_workers: int
    base_seed: int
    dataset: Any
    make_fetcher: Callable[[Any], Fetcher]
    init: Callable[[int], Any] | None


@dataclass(frozen=True)
class Failure:
    """An exception that was raised in a worker, on its way to the loader."""

    kind: type[BaseException]
    text: str
    worker: int

    def throw(self) -> None:
        """Raise it here, with the worker's traceback in its message."""
        message = f"Caught {self.kind.__name__} in DataLoader worker process {self.worker}.\nOriginal {self.text}"
        try:
            error = self.kind(_Message(message) if self.kind is KeyError else message)
        except Exception:
            error = RuntimeError(message)  # its constructor wants something else
        raise error from None


class _Message(str):
    """A text whose repr is itself: a KeyError shows its argument's repr, and lines would be escaped."""

    def __repr__(self) -> str:
        return str(self)


class End:
    """In place of a batch: the stream has ended."""


FETCH = "fetch"  # a batch, or a sample
RESTART = "restart"  # take the dataset from its beginning: another pass


def run(task: Task, connection: Connection) -> None:
    """Answer requests until there are no more, or until the process that asks has gone."""
    global _info
    clew.set_num_threads(1)
    seed = task.base_seed + task.id
    random.seed(seed)
    clew.manual_seed(seed)
    # NumPy's seed depends on each of the two numbers, not on their sum alone.
    words = [task.id, task.base_seed & 0xFFFFFFFF, task.base_seed >> 32, 0]
    numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))
    _info = WorkerInfo(task.id, task.num_workers, seed, task.dataset)
    # Ctrl-C reaches all processes of a terminal: the main one tells of it.
    with contextlib.suppress(KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError):
        _Answering(task, connection).run()


class _Answering:
    def __init__(self, task: Task, connection: Connection) -> None:
        self._task, self._connection = task, connection
        self._fetcher: Fetcher | None = None
        self._failed: Failure | None = None  # from before the first request

    def run(self) -> None:
        parent = os.getppid()
        try:
            if self._task.init is not None:
                self._task.init(self._task.id)
            self._fetcher = self._task.make_fetcher(self._task.dataset)
        except Exception as error:
            self._failed = self._failure(error)
        while True:
            while not self._connection.poll(_SECONDS_BETWEEN_LOOKS):
                if os.getppid() != parent:
                    return
            request = self._connection.recv()
            if request is None:
                return
            self._send(self._answer(*request))

    def _answer(self, kind: str, wanted: Any) -> Any:
        try:
            if kind == RESTART:
                self._failed, self._fetcher = None, self._task.make_fetcher(self._task.dataset)
                return None
            if self._failed or self._fetcher is None:
                return self._failed
            return self._fetcher(wanted)
        except EndOfStream:
            return End()
        except Exception as error:
            return self._failure(error)

    def _send(self, answer: Any) -> None:
        try:
            transfer.send(self._connection, answer)
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:  # what can't be pickled
            transfer.send(self._connection, self._failure(error))

    def _failure(self, error: Exception) -> Failure:
        text = "".join(traceback.format_exception(error))
        return Failure(type(error), text, self._task.id)
