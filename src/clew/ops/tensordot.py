"""Contraction of two tensors over chosen axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .._core import Tensor
from .._domains import domain
from .._out import filled
from ._options import axis_of

__all__ = ["tensordot"]


@domain("a=real(a, b, c), b=real(b, c, d); a=real(a, b), b=real(c, b), dims=((1,), (1,))")
def tensordot(
    a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] | Sequence[int] = 2, out: Tensor | None = None
) -> Tensor:
    """Sum the products of `a` and `b` over pairs of axes.

    The result has the other axes of `a`, then those of `b`. Of a pair, one axis may have size 1: it is broadcast.

    Args:
        dims: a number n for the last n axes of `a` and the first n of `b`, or two lists of axes (or two axes).

    Raises:
        RuntimeError: lists of different lengths, sizes or dtypes that do not fit, or a negative number.

    Example:
        >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(3, 4, 5), dims=2).shape
        torch.Size([2, 5])
    """
    return filled("tensordot", _contracted(a, b, dims), out)


def _contracted(a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] | Sequence[int]) -> Tensor:
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot: expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot: expects dims <= ndim of both, but got dims={dims} of {a.dim()} and {b.dim()} axes"
            )
        of_a, of_b = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        first, second = dims
        of_a = [first] if isinstance(first, int) else list(first)
        of_b = [second] if isinstance(second, int) else list(second)
    if len(of_a) != len(of_b):
        raise RuntimeError(f"tensordot: both dimension lists should have same length, got {of_a} and {of_b}")
    if a.dtype != b.dtype:
        raise RuntimeError(f"tensordot: both inputs should have same dtype, got {a.dtype} and {b.dtype}; cast one")
    of_a, of_b = _places(a, of_a), _places(b, of_b)
    for i, j in zip(of_a, of_b, strict=True):
        if b.shape[j] == 1:  # broadcast: the sum can be taken right away
            a = a.sum(i, keepdim=True, dtype=a.dtype)
        elif a.shape[i] == 1:
            b = b.sum(j, keepdim=True, dtype=b.dtype)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"tensordot: contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and "
                f"second has size {b.shape[j]} in dim {j}"
            )
    rows = [axis for axis in range(a.dim()) if axis not in of_a]
    columns = [axis for axis in range(b.dim()) if axis not in of_b]
    inner = math.prod(a.shape[axis] for axis in of_a)
    row_sizes, column_sizes = [a.shape[axis] for axis in rows], [b.shape[axis] for axis in columns]
    left, right = a.permute([*rows, *of_a]), b.permute([*of_b, *columns])
    sizes = [*row_sizes, *column_sizes]
    if math.prod(sizes) == 1:
        if left.is_contiguous() and right.is_contiguous():
            return left.flatten().dot(right.flatten()).reshape(sizes)
        return (left.squeeze() * right.squeeze()).sum(dtype=left.dtype).reshape(sizes)
    left, right = left.reshape([math.prod(row_sizes), inner]), right.reshape([inner, math.prod(column_sizes)])
    return left.mm(right).reshape(sizes)


def _places(tensor: Tensor, axes: list[int]) -> list[int]:
    return [axis_of("tensordot", tensor, axis, of_number=False) for axis in axes]
