"""Memory that all ranks of a machine see, in which they add up faster than by messages."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from ._check import agree, checks, header
from ._groups import ProcessGroup
from ._reductions import ReduceOp, finish
from ._work import Work, collective

_FOLDER = "/dev/shm"  # files there are memory
_LINE = 64  # bytes of a line of the cache


class SharedRow:
    """Room for a row of floating-point numbers of each rank of a group, and for their mean.

    A group's collectives run one after the other, so that one room serves all rows that are no longer than it.
    """

    def __init__(self, group: ProcessGroup, memory: mmap.mmap, room: int) -> None:
        self._group, self.room = group, room
        rows = numpy.frombuffer(memory, dtype=numpy.uint8).reshape(-1, room)
        self._rows, self._mean = rows[:-1], rows[-1]

    def views(self, length: int, dtype: Any) -> tuple[Tensor, Tensor]:
        """This rank's row, to be written, and the mean, to be read, as tensors of so many elements."""
        rows = (self._rows[self._group.rank()], self._mean)
        own, mean = (_core.from_numpy(row[: length * dtype.itemsize].view(_kind(dtype))) for row in rows)
        return own, mean

    def mean(self, model: Tensor, write: Callable[[], None], read: Callable[[], None]) -> Work:
        """Begin to take the mean over ranks, added up in their order; each rank adds up one part.

        Args:
            model: a view of the row, for its length and dtype.
            write: called when the row can be written.
            read: called when the mean can be read, until it returns.
        """
        group, kind, length = self._group, _kind(model.dtype), model.numel()

        def steps() -> Iterator[Any]:
            write()
            if checks():  # who has heard from all knows that all have written
                yield from agree(group.comm, header("all_reduce", model, ReduceOp.AVG))
            else:
                yield group.comm.Ibarrier()
            part = slice(group.rank() * length // group.size(), (group.rank() + 1) * length // group.size())
            rows = [row.view(kind)[part] for row in self._rows]
            total = self._mean.view(kind)[part]
            numpy.add(rows[0], rows[1], out=total)
            for row in rows[2:]:
                total += row
            finish(ReduceOp.AVG, total, group.size())
            yield group.comm.Ibarrier()
            read()

        work = collective(group, "all_reduce", steps(), (), True)
        assert work is not None
        return work


def shared_row(group: ProcessGroup, length: int) -> SharedRow | None:
    """The group's room, with so many bytes a rank at least; None if its ranks are on several machines, or memory lacks.

    All ranks of the group call it, with the same length.
    """
    if group.size() == 1:
        return None
    found: SharedRow | None = group.shared
    if found is None or found.room < length:
        room = -(-length // _LINE) * _LINE
        memory = _shared_memory(group.comm, (group.size() + 1) * room)
        found = group.shared = None if memory is None else SharedRow(group, memory, room)
    return found


def _shared_memory(comm: Any, size: int) -> mmap.mmap | None:
    """New memory that all ranks see; None where one doesn't."""
    from mpi4py import MPI

    name = _new_file(size) if comm.rank == 0 else None
    name = comm.bcast(name)
    memory = None
    try:
        if name is not None:
            with open(name, "r+b") as file:
                memory = mmap.mmap(file.fileno(), size)
    except (OSError, ValueError):  # there is no such file on this machine, or its rank 0 asked for less
        pass
    seen_by_all = comm.allreduce(memory is not None, MPI.LAND)
    if comm.rank == 0 and name is not None:
        os.unlink(name)  # which leaves the memory to those who have it
    return memory if seen_by_all else None


def _new_file(size: int) -> str | None:
    try:
        with tempfile.NamedTemporaryFile(dir=_FOLDER, prefix="clew-", delete=False) as file:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError:
                os.unlink(file.name)
                raise
            return file.name
    except OSError:  # no such folder, or too little memory in it
        return None


def _kind(dtype: Any) -> Any:
    return numpy.float64 if dtype.itemsize == 8 else numpy.float32
