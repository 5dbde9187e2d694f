"""Who is there? A rank that waited too long asks the others; those that wait, too, answer, and the rest is missing."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy

from ._check import KINDS, ranks_text

_QUESTION, _ANSWER, _ENDED = 1, 2, 3
_GRACE = 1.0  # seconds in which those who wait have answered: they look for questions every few milliseconds


class Attendance:
    """Questions and answers between the ranks of a group, on a communicator of their own.

    A message holds the number of the sender's call in the group and what it is; a rank that asks waits itself.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._heard: dict[int, tuple[int, int]] = {}
        self._ended: dict[int, tuple[int, float]] = {}  # a rank's last call, and when this one learned of its end
        self._sent: list[Any] = []  # requests with their messages, which must live until these are sent

    def listen(self, call: tuple[int, int]) -> None:
        """Note what has come in, and answer questions."""
        from mpi4py import MPI

        status = MPI.Status()
        while self._comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            message = numpy.empty(2, dtype=numpy.int64)
            self._comm.Recv(message, status.source, status.tag)
            if status.tag == _ENDED:
                self._ended[status.source] = (int(message[0]), time.monotonic())
                continue
            self._heard[status.source] = (int(message[0]), int(message[1]))
            if status.tag == _QUESTION:
                self._send(call, status.source, _ANSWER)

    def end(self, calls: int) -> None:
        """Tell all that this process ends after so many calls in the group."""
        for rank in range(self._comm.size):
            if rank != self._comm.rank:
                self._send((calls, 0), rank, _ENDED)

    def ended(self, number: int, ranks: Iterable[int]) -> list[int]:
        """Which of these ranks have ended without having made a call: its number, or 0 for a message.

        A message may still be on its way when its sender has ended.
        """
        now = time.monotonic()
        return [
            rank
            for rank, (calls, since) in self._ended.items()
            if rank in ranks and (calls < number if number else now - since > _GRACE)
        ]

    def missing(self, call: tuple[int, int], ranks: Iterable[int]) -> str:
        """Ask these ranks, and say which are not in the call, and where they are."""
        others = [rank for rank in ranks if rank != self._comm.rank]
        for rank in others:
            self._send(call, rank, _QUESTION)
        end = time.monotonic() + _GRACE
        while time.monotonic() < end and not all(self._heard.get(rank, (-2, 0))[0] >= call[0] for rank in others):
            self.listen(call)
            time.sleep(0.002)
        silent = [rank for rank in others if rank not in self._heard]
        elsewhere = [rank for rank in others if rank in self._heard and not self._is_in(rank, call)]
        told = [f"{ranks_text(silent)} (in no call: busy, or gone)"] * bool(silent)
        told += [f"rank {rank} (waiting in {KINDS[self._heard[rank][1]]})" for rank in elsewhere]
        self._heard.clear()
        return ", ".join(told) or "none: all ranks are in this call, and data arrives slowly"

    def _is_in(self, rank: int, call: tuple[int, int]) -> bool:
        number, kind = self._heard[rank]
        return kind == call[1] and number >= call[0]

    def _send(self, call: tuple[int, int], rank: int, tag: int) -> None:
        message = numpy.array(call, dtype=numpy.int64)
        self._sent = [one for one in self._sent if not one[0].Test()]
        self._sent.append((self._comm.Isend(message, rank, tag), message))
