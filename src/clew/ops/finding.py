"""What is in a tensor: positions that are not zero, distinct values, members. None of it has a derivative."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._device import placed
from .._domains import domain
from .._numeric import array_of, result_type
from ._options import axis_of, need_values
from .from_data import as_tensor

__all__ = ["isin", "nonzero", "unique", "unique_consecutive"]
METHODS = ["nonzero", "unique", "unique_consecutive"]

_ops: Any = _core.ops


@domain("real; real, as_tuple=True")
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of the elements that are not zero.

    Returns:
        Shape (count, dimensions), int64, in row-major order; with `as_tuple` a vector of indices for each dimension,
        which can index the tensor: `x[nonzero(x, as_tuple=True)]`.

    Raises:
        RuntimeError: `as_tuple` and `out` together.

    Example:
        >>> torch.nonzero(torch.tensor([0, 5, 7]))
        tensor([[1],
                [2]])
    """
    if as_tuple and out is not None:
        raise RuntimeError("nonzero: does not support the out kwarg when as_tuple is True; leave one of them out")
    return _ops.where(input) if as_tuple else _ops.nonzero(input, out=out)


def _tensor(values: Any, dim: int = 0) -> Tensor:
    """Its memory has the slices along dim one after the other, as PyTorch's."""
    moved = numpy.require(numpy.moveaxis(values, dim, 0), requirements="C")
    return _core.from_numpy(numpy.moveaxis(moved, 0, dim))


def _pick(values: Tensor, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    results = [values]
    if return_inverse:
        results.append(_core.from_numpy(numpy.require(inverse, numpy.int64, "C")))
    if return_counts:
        results.append(_core.from_numpy(numpy.require(counts, numpy.int64, "C")))
    return tuple(results) if len(results) > 1 else results[0]


def _need_slices(op: str, input: Tensor, dim: int) -> None:
    if input.shape[axis_of(op, input, dim, of_number=False)] != 0 and 0 in input.shape:
        raise RuntimeError(f"{op}: There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@domain("input=index(3, c); input=index(2, d, a), return_inverse=True, return_counts=True, dim=0")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in ascending order, or the distinct slices along an axis. NaNs are all distinct.

    Args:
        sorted: the result is sorted in any case.
        return_inverse: also the index in the result of each element of `input`.
        return_counts: also how often each occurs.
        dim: the axis whose slices are compared; without it single elements are.

    Example:
        >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    if dim is not None:
        _need_slices("unique", input, dim)
    need_values("unique", input)
    array = array_of(input)
    values, inverse, counts = numpy.unique(array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    inverse = inverse.reshape(array.shape if dim is None else -1)
    found = _ops._unique2(input, _tensor(values)) if dim is None else _ops._unique_dim(input, _tensor(values, dim))
    return _pick(found, inverse, counts, return_inverse, return_counts)


@domain("input=index(2, d); input=index(2, d, a), return_inverse=True, return_counts=True, dim=0")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal elements, or of equal slices along an axis. Arguments as for `unique`.

    Example:
        >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    need_values("unique_consecutive", input)
    array = array_of(input)
    if dim is not None:
        _need_slices("unique_consecutive", input, dim)
    lanes = array.reshape(-1) if dim is None else numpy.moveaxis(array, dim, 0)
    rest = lanes.reshape(len(lanes), -1) if len(lanes) else lanes.reshape(0, 1)
    first = numpy.ones(len(lanes), bool)
    first[1:] = (rest[1:] != rest[:-1]).any(axis=1)
    inverse = numpy.cumsum(first) - 1
    counts = numpy.diff(numpy.append(numpy.flatnonzero(first), len(lanes)))
    values = lanes[first] if dim is None else numpy.moveaxis(lanes[first], 0, dim)
    found = _ops._unique_consecutive(input, _tensor(values, dim or 0))
    return _pick(found, inverse.reshape(array.shape) if dim is None else inverse, counts, return_inverse, return_counts)


@domain("elements=index(5, a, b), test_elements=index(5, a); elements=index(5, a, b), test_elements=2, invert=True")
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is one of `test_elements`, as bool.

    Args:
        elements, test_elements: tensors, or one of them a number.
        assume_unique: accepted, without effect.
        invert: whether it is none of them.

    Raises:
        RuntimeError: bools.
        TypeError: two numbers.

    Example:
        >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 5]))
        tensor([False,  True, False])
    """
    if any(isinstance(one, Tensor) and one.dtype == _core.dtypes["bool"] for one in (elements, test_elements)):
        raise RuntimeError("isin: Unsupported input type encountered for isin(): Bool; cast it")
    if not any(isinstance(one, Tensor) for one in (elements, test_elements)):
        raise TypeError("isin: expected at least one tensor, got two numbers")
    given, among = (
        math.nan if isinstance(one, int) and not -(2**63) <= one < 2**63 else one for one in (elements, test_elements)
    )
    dtype = result_type(given, among)
    if dtype.is_complex:
        raise RuntimeError(f"isin: Unsupported input type encountered for isin(): {dtype}; look for its parts")
    for one in (given, among):
        if isinstance(one, Tensor) and one.is_meta:
            return one.new_empty(given.shape if isinstance(given, Tensor) else (), dtype=_core.dtypes["bool"])
    with placed("cpu"):
        values, known = (as_tensor(one).detach().to(dtype) for one in (given, among))
        found = _are_in(values, known.reshape(-1))
        return ~found if invert else found


def _are_in(given: Tensor, known: Tensor) -> Tensor:
    if not known.numel():
        return given.new_zeros(given.shape, dtype=_core.dtypes["bool"])
    infinite: Any = True
    if given.is_floating_point():  # NaN, which equals none of them, has no order: infinity stands for it
        infinite = (known == math.inf).any()
        known = known.masked_fill(known != known, math.inf)
    ordered = known.sort().values
    places = _ops.searchsorted(ordered, given.contiguous()).clamp_(max=ordered.numel() - 1)
    found: Tensor = (ordered[places] == given) & ((given != math.inf) | infinite)
    return found
