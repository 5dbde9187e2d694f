"""Contraction of two tensors over chosen axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .._core import Tensor

__all__ = ["tensordot"]


def tensordot(a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] | Sequence[int] = 2) -> Tensor:
    """Sum the products of `a` and `b` over pairs of axes.

    The result has the other axes of `a`, then those of `b`.

    Args:
        dims: a number n for the last n axes of `a` and the first n of `b`, or two lists of axes (or two axes).

    >>> import clew
    >>> clew.tensordot(clew.ones(2, 3, 4), clew.ones(3, 4, 5), dims=2).shape
    torch.Size([2, 5])
    """
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot: expects dims >= 0, but got dims={dims}")
        of_a, of_b = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        first, second = dims
        of_a = [first] if isinstance(first, int) else list(first)
        of_b = [second] if isinstance(second, int) else list(second)
    if len(of_a) != len(of_b):
        raise RuntimeError(f"tensordot: both dimension lists should have same length, got {of_a} and {of_b}")
    of_a = [axis % a.dim() for axis in of_a]
    of_b = [axis % b.dim() for axis in of_b]
    for left, right in zip(of_a, of_b, strict=True):
        if a.shape[left] != b.shape[right]:
            raise RuntimeError(
                f"tensordot: contracted dimensions need to match, but first has size {a.shape[left]} in dim {left} and "
                f"second has size {b.shape[right]} in dim {right}"
            )
    rows = [axis for axis in range(a.dim()) if axis not in of_a]
    columns = [axis for axis in range(b.dim()) if axis not in of_b]
    inner = math.prod(a.shape[axis] for axis in of_a)
    row_sizes, column_sizes = [a.shape[axis] for axis in rows], [b.shape[axis] for axis in columns]
    left_matrix = a.permute([*rows, *of_a]).reshape([math.prod(row_sizes), inner])
    right_matrix = b.permute([*of_b, *columns]).reshape([inner, math.prod(column_sizes)])
    return left_matrix.mm(right_matrix).reshape([*row_sizes, *column_sizes])
