"""A sum over ranks in the order of the ranks, so that its bits are the same with every MPI library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from .._core import Tensor
from ._check import agree, header
from ._groups import ProcessGroup
from ._memory import reducible
from ._reductions import ReduceOp, finish
from ._work import Work, collective


def ordered_all_reduce(tensor: Tensor, op: ReduceOp, group: ProcessGroup) -> Work:
    """As `all_reduce` with `async_op=True` and SUM or AVG: ((x of rank 0 + x of rank 1) + x of rank 2) + ...

    Each rank adds up one part of the elements, which it gets from all; then all get all parts.
    """

    def steps() -> Iterator[Any]:
        yield from agree(group.comm, header("all_reduce", tensor, op))
        array, store = reducible(tensor)
        ranks = group.size()
        length = -(-array.size // ranks)
        padded = numpy.zeros((ranks, length), dtype=array.dtype)
        padded.reshape(-1)[: array.size] = array
        parts = numpy.empty_like(padded)
        yield group.comm.Ialltoall(padded, parts)
        total = parts[0].copy()
        for part in parts[1:]:
            total += part
        finish(op, total, ranks)
        yield group.comm.Iallgather(total, padded)
        array[:] = padded.reshape(-1)[: array.size]
        store()

    work = collective(group, "all_reduce", steps(), [tensor], True)
    assert work is not None
    return work
