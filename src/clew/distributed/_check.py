"""Before data flows all ranks tell each other which call they are in, so that different calls are an error on all."""

from __future__ import annotations

import enum
import os
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from .._core import Tensor
from ._memory import DTYPES, NUMBERS
from ._reductions import ReduceOp

KINDS = (
    "all_reduce", "broadcast", "barrier", "reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "gather", "all_to_all", "all_to_all_single", "all_gather_object",
    "broadcast_object_list", "gather_object", "scatter_object_list", "new_group", "send", "recv", "monitored_barrier",
)  # fmt: skip
_LENGTH, _SHAPE = 14, 5  # numbers in a header; where the shape begins
_NONE = -1


class DistError(RuntimeError):
    """Ranks that are in different calls, or that are not there in time."""


class DebugLevel(enum.Enum):
    """What is checked: at `DETAIL`, the default, that all ranks make the same call; at `OFF` and `INFO` nothing.

    A check is one exchange of 112 bytes a rank before the data.
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


class _Level:
    now = DebugLevel.DETAIL


def get_debug_level() -> DebugLevel:
    """What is checked now."""
    return _Level.now


def set_debug_level(level: DebugLevel) -> None:
    """Say what is checked; in all ranks the same, and between calls."""
    _Level.now = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Take the level that the variable TORCH_DISTRIBUTED_DEBUG names, if it is set."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG")
    if name is None:
        return
    if name.upper() not in DebugLevel.__members__:
        raise ValueError(f"TORCH_DISTRIBUTED_DEBUG: expected OFF, INFO or DETAIL, got {name!r}")
    set_debug_level(DebugLevel[name.upper()])


def header(
    kind: str,
    tensor: Tensor | None = None,
    op: ReduceOp | None = None,
    root: int = _NONE,
    numbers: Sequence[int] | None = None,
) -> Any:
    """A call in numbers: which one, dtype, operation, root, dimensions, sizes or others (the last as a checksum)."""
    made = numpy.full(_LENGTH, _NONE, dtype=numpy.int64)
    made[0] = KINDS.index(kind)
    made[2] = _NONE if op is None else op.value
    made[3] = root
    if tensor is not None:
        made[1] = NUMBERS[tensor.dtype]
    if tensor is not None or numbers is not None:
        shape = tuple(tensor.shape if tensor is not None else numbers or ())
        room = _LENGTH - _SHAPE - 1
        made[4] = len(shape)
        made[_SHAPE : _SHAPE + min(len(shape), room)] = shape[:room]
        made[-1] = zlib.crc32(repr(shape[room:]).encode()) if len(shape) > room else _NONE
    return made


def described(numbers: Any) -> str:
    """The call that a header tells."""
    text = KINDS[int(numbers[0])]
    if numbers[4] >= 0:
        shape = tuple(int(size) for size in numbers[_SHAPE:-1][: int(numbers[4])])
        text += f" of {DTYPES[int(numbers[1])] + ' ' if numbers[1] >= 0 else ''}{shape}"
    if numbers[2] >= 0:
        text += f" with {ReduceOp(int(numbers[2])).name}"
    if numbers[3] >= 0:
        text += f" from or to rank {int(numbers[3])} of the group"
    return text


def checks() -> bool:
    """Whether ranks compare their calls."""
    return _Level.now is DebugLevel.DETAIL


def agree(comm: Any, mine: Any) -> Iterator[Any]:
    """Steps of a collective: exchange headers, and raise in all ranks if they differ."""
    if not checks() or comm.size == 1:
        return
    all_of_them = numpy.empty((comm.size, _LENGTH), dtype=numpy.int64)
    yield comm.Iallgather(mine, all_of_them)
    if (all_of_them != mine).any():
        calls: dict[str, list[int]] = {}
        for rank, one in enumerate(all_of_them):
            calls.setdefault(described(one), []).append(rank)
        told = "; ".join(f"{call} on {ranks_text(ranks)}" for call, ranks in calls.items())
        raise DistError(f"{KINDS[int(mine[0])]}: expected the same call on all ranks of the group, got {told}")


def ranks_text(ranks: list[int]) -> str:
    """`rank 1`, or `ranks 0, 2`."""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
