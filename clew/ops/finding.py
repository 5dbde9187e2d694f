"""What is in a tensor: positions that are not zero, distinct values. None of it is differentiable."""

from __future__ import annotations

from typing import Any

import numpy

from .. import _core
from .._core import Tensor

__all__ = ["nonzero", "unique", "unique_consecutive"]
METHODS = ["nonzero", "unique", "unique_consecutive"]

_ops: Any = _core.ops


def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """Where a tensor is not zero.

    Returns:
        A row of indices for each such element, in order; with `as_tuple` one vector of indices for each axis instead,
        which can be used as a key: `x[nonzero(x, as_tuple=True)]`.

    >>> import clew
    >>> clew.nonzero(clew.tensor([0, 5, 7])).tolist()
    [[1], [2]]
    """
    return _ops.where(input) if as_tuple else _ops.nonzero(input, out=out)


def _pick(values: Any, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    results = [_core.from_numpy(numpy.ascontiguousarray(values))]
    if return_inverse:
        results.append(_core.from_numpy(numpy.ascontiguousarray(inverse, dtype=numpy.int64)))
    if return_counts:
        results.append(_core.from_numpy(numpy.ascontiguousarray(counts, dtype=numpy.int64)))
    return tuple(results) if len(results) > 1 else results[0]


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in ascending order, or the distinct slices along an axis. NaNs are all distinct.

    Args:
        sorted: kept for PyTorch's sake; the result is always sorted.
        return_inverse: also where each element of `input` is found in the result.
        return_counts: also how often each occurs.
        dim: the axis whose slices are compared; without it single elements are.

    >>> import clew
    >>> values, counts = clew.unique(clew.tensor([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    array = input.detach().numpy()
    values, inverse, counts = numpy.unique(array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    inverse = inverse.reshape(array.shape if dim is None else -1)
    return _pick(values, inverse, counts, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along an axis) that differ from the one before.

    >>> import clew
    >>> clew.unique_consecutive(clew.tensor([1, 1, 2, 1])).tolist()
    [1, 2, 1]
    """
    array = input.detach().numpy()
    lanes = array.reshape(-1) if dim is None else numpy.moveaxis(array, dim, 0)
    rest = lanes.reshape(len(lanes), -1) if len(lanes) else lanes.reshape(0, 1)
    first = numpy.ones(len(lanes), bool)
    first[1:] = (rest[1:] != rest[:-1]).any(axis=1)
    inverse = numpy.cumsum(first) - 1
    counts = numpy.diff(numpy.append(numpy.flatnonzero(first), len(lanes)))
    values = lanes[first] if dim is None else numpy.moveaxis(lanes[first], 0, dim)
    return _pick(
        values, inverse.reshape(array.shape) if dim is None else inverse, counts, return_inverse, return_counts
    )
