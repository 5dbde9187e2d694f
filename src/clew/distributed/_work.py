"""A call under way: its steps, and how one waits for them."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from ._check import KINDS, DistError, ranks_text
from ._memory import announce

if TYPE_CHECKING:
    from ._groups import ProcessGroup

_EAGER = 200e-6  # seconds in which a waiting rank only lets others run, before it sleeps between two looks
_LISTEN = 0.02  # seconds between two looks for questions


class Work:
    """A call that may not have finished: what collectives return with `async_op=True`, and `isend` and `irecv`.

    Collectives of a group run one after the other, in the order in which they were called. They go on while a rank is
    in any call of `clew.distributed`, or asks `is_completed()`.
    """

    def __init__(self, group: ProcessGroup, kind: str, steps: Iterator[Any], outputs: Sequence[Tensor] = ()) -> None:
        self._group, self._kind, self._steps, self._outputs = group, kind, steps, list(outputs)
        self._request: Any = None
        self._done = False
        self._error: Exception | None = None
        self._peers: Sequence[int] = range(group.size())  # those that it needs
        self._from_any = False  # whether one of them is enough
        self._source: int | None = None
        self._number = 0  # of a collective: which of the group's it is

    def _advance(self) -> bool:
        """Do what can be done now; whether it has finished."""
        while not self._done:
            try:
                if self._request is not None and not self._request.Test():
                    return False
                self._request = next(self._steps)
            except StopIteration:
                self._done = True
            except Exception as error:
                self._done, self._error = True, error
        return True

    def is_completed(self) -> bool:
        """Whether it has finished, or failed."""
        progress()
        return self._done

    def is_success(self) -> bool:
        """Whether it has finished without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> Exception | None:
        """The error with which it failed."""
        return self._error

    def source_rank(self) -> int:
        """From which rank a message came.

        Raises:
            RuntimeError: nothing was received.
        """
        if self._source is None:
            raise RuntimeError("source_rank: expected a receive that has finished")
        return self._source

    def result(self) -> list[Tensor]:
        """The tensors that were written."""
        return list(self._outputs)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Return True when it has finished; the tensors may be read from then on.

        Raises:
            DistError: other ranks are in another call, or did not come within the time, by default the group's.
        """
        limit = (self._group.timeout if timeout is None else timeout).total_seconds()
        started = listened = time.monotonic()
        while not self._done:
            progress()
            if self._done:
                break
            now = time.monotonic()
            if now - listened > _LISTEN:
                listened = now
                listen((self._number, KINDS.index(self._kind)))
                self._check_peers()
            if now - started > limit:
                raise DistError(f"{self._kind}: waited {limit:g} s for " + self._missing())
            _pause(now - started)
        if self._error is not None:
            raise self._error
        for one in self._outputs:  # a graph may have saved them while they were being written
            announce(one)
        self._outputs = []
        return True

    def _check_peers(self) -> None:
        gone = self._group.attendance.ended(self._number, self._peers)
        if gone and not (self._from_any and len(gone) < self._group.size() - 1):
            raise DistError(
                f"{self._kind}: expected {ranks_text(gone)} of the group to come, got the end of its program: by "
                "sys.exit, or with fewer calls than here"
            )

    def _missing(self) -> str:
        call = (self._number, KINDS.index(self._kind))
        return self._group.attendance.missing(call, self._peers)


def _pause(waited: float) -> None:
    """Let other ranks run on this core; who waits for long sleeps for longer."""
    if waited < _EAGER:
        os.sched_yield()
    else:
        time.sleep(min(1e-3, max(20e-6, waited / 50)))


class _Live:
    groups: list[ProcessGroup] = []  # noqa: RUF012 - those of this process


live = _Live.groups


def progress() -> None:
    """Move on whatever is under way."""
    for group in live:
        _advance_first(group.queue)
        if group.transfers:
            group.transfers[:] = [one for one in group.transfers if not one._advance()]


def _advance_first(queue: deque[Work]) -> None:
    while queue and queue[0]._advance():
        queue.popleft()


def listen(call: tuple[int, int]) -> None:
    """Answer whoever asks where this rank is."""
    for group in live:
        group.attendance.listen(call)


def collective(
    group: ProcessGroup, kind: str, steps: Iterator[Any], outputs: Sequence[Tensor], async_op: bool
) -> Work | None:
    """Start a collective; without `async_op` wait for it."""
    work = Work(group, kind, steps, outputs if async_op else ())
    group.calls += 1
    work._number = group.calls
    group.queue.append(work)
    progress()
    if async_op:
        return work
    work.wait()
    return None
