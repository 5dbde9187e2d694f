"""What a reduction does with the elements of the ranks."""

from __future__ import annotations

import enum
from typing import Any

from .._core import Tensor


class ReduceOp(enum.Enum):
    """How elements of the ranks become one.

    `SUM`, `AVG` (of floating-point and complex numbers), `PRODUCT`, `MIN` and `MAX` (not of complex numbers), and
    bitwise `BAND`, `BOR` and `BXOR` (of integers and bool). Sums and maxima of bool are "or", products and minima
    "and".
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


_BITWISE = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
_MPI_NAMES = ("SUM", "SUM", "PROD", "MIN", "MAX", "BAND", "BOR", "BXOR")
_BOOL_NAMES = ("LOR", "", "LAND", "LAND", "LOR", "LAND", "LOR", "LXOR")


def check_reduction(call: str, op: Any, tensor: Tensor) -> ReduceOp:
    """The operation, or an error where the dtype has none such."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{call}: expected op to be one of ReduceOp, got {op!r}")
    floating = tensor.is_floating_point() or tensor.is_complex()
    wrong = (
        (op is ReduceOp.AVG and not floating)
        or (op in (ReduceOp.MIN, ReduceOp.MAX) and tensor.is_complex())
        or (op in _BITWISE and floating)
    )
    if wrong:
        raise TypeError(f"{call}: ReduceOp.{op.name} is not defined for {tensor.dtype}; use another op or dtype")
    return op


def mpi_operation(op: ReduceOp, array: Any) -> Any:
    """The operation of MPI's for the array's elements."""
    from mpi4py import MPI

    return getattr(MPI, (_BOOL_NAMES if array.dtype.kind == "b" else _MPI_NAMES)[op.value])


def finish(op: ReduceOp, array: Any, ranks: int) -> None:
    """What is left to do after MPI's part."""
    if op is ReduceOp.AVG:
        array /= ranks
