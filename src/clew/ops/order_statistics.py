"""Statistics that go by the order of elements: extremes so far, the most frequent; and sums that skip NaNs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from .. import _core
from .._core import Tensor, dtype
from .._domains import domain
from .._numeric import array_of
from .._operation import FUNCTION, HIDDEN, METHOD, OUT, OUT_ALIKE, operation
from ._options import axis_of

__all__ = METHODS = ["aminmax", "logcumsumexp", "nanmean", "nansum"]

_ops: Any = _core.ops


def _lanes(input: Tensor, axis: int) -> Any:
    """The elements as an array whose last axis is the one that is gone along."""
    return numpy.moveaxis(numpy.atleast_1d(array_of(input)), axis, -1)


def _picked(input: Tensor, axis: int, positions: Any) -> tuple[Tensor, Tensor]:
    """The elements at positions along the axis (the last one of `positions`), and the positions."""
    transposed = numpy.moveaxis(positions, -1, axis)
    indices = _core.from_numpy(numpy.ascontiguousarray(transposed).reshape(transposed.shape if input.dim() else ()))
    return _ops.gather(input, axis, indices), indices


# ------------------------------------------------------------------------------------------------------------- extremes
class _MinMax(NamedTuple):
    min: Tensor
    max: Tensor


@domain("distinct; distinct, dim=1; distinct, dim=0, keepdim=True")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> _MinMax:
    """The smallest and the largest element, of all or along an axis, as `min` and `max`; NaN where there is one.

    Raises:
        RuntimeError: there are no elements; IndexError along an axis.

    Example:
        >>> smallest, largest = torch.aminmax(torch.tensor([3, 1, 2]))
        >>> smallest, largest
        (tensor(1), tensor(3))
    """
    if not (input.numel() if dim is None else max(input.dim(), 1) and (input.dim() == 0 or input.shape[dim])):
        kind = RuntimeError if dim is None else IndexError
        raise kind("aminmax: cannot compute aminmax over an empty dimension as the operation has no identity")
    dims = () if dim is None else dim
    return _MinMax(input.amin(dims, keepdim), input.amax(dims, keepdim))


class _Values(NamedTuple):
    values: Tensor
    indices: Tensor


def _with_indices(x: Tensor, axis: int, keepdim: bool, kept: int | None = None) -> tuple[Tensor, Tensor]:
    """Empty values and indices, of the axis as it is or `kept` of it."""
    sizes = [size if place != axis or kept is None else kept for place, size in enumerate(x.shape)]
    if not keepdim:
        del sizes[axis : axis + 1]
    return x.new_empty(sizes), x.new_empty(sizes, dtype=_core.dtypes["int64"])


def _define_running(name: str, extreme: Any, reaches: Any, which: str, example: str) -> None:
    def ordered_axis(self: Tensor, dim: int) -> int:
        axis = axis_of(name, self, dim)
        if self.is_complex():
            raise NotImplementedError(f"{name}: complex numbers have no order, got {self.dtype}; take the real parts")
        return axis

    def running(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        axis = ordered_axis(self, dim)
        lanes = _lanes(self, axis)
        with numpy.errstate(invalid="ignore"):
            new = (lanes != lanes) | reaches(lanes, extreme.accumulate(lanes, axis=-1))
        positions = numpy.where(new, numpy.arange(lanes.shape[-1]), 0)
        return _picked(self, axis, numpy.maximum.accumulate(positions, axis=-1))

    running.__doc__ = f"""The {which} element so far along an axis, and the index where it was last. A NaN stays.

    Example:
        >>> values, indices = torch.{name}(torch.tensor([3, 1, 3]), 0)
        >>> values, indices
        {example}
    """
    operation(
        f"{name}(Tensor self, int dim)",
        outputs="values indices",
        rules=(lambda g_values, indices, dim: g_values.new_zeros(g_values.shape).scatter_add(dim, indices, g_values),),
        flags=METHOD | FUNCTION | OUT | OUT_ALIKE,
        infer=lambda self, dim: _with_indices(self, ordered_axis(self, dim), True),
        domain="self=distinct(a, d), dim=1; self=distinct(c, a), dim=0",
        arrays=False,
    )(running)


_define_running("cummax", numpy.maximum, numpy.greater_equal, "largest", "(tensor([3, 3, 3]), tensor([0, 0, 2]))")
_define_running("cummin", numpy.minimum, numpy.less_equal, "smallest", "(tensor([3, 1, 1]), tensor([0, 1, 1]))")


def _gradient_of_mode(g_values: Tensor, self: Tensor, indices: Tensor, dim: int, keepdim: bool) -> Tensor:
    if not keepdim and self.dim():
        g_values, indices = g_values.unsqueeze(dim), indices.unsqueeze(dim)
    return self.new_zeros(self.shape).scatter(dim, indices, g_values)


@operation(
    "mode(Tensor self, int dim=-1, bool keepdim=False)",
    outputs="values indices",
    rules=(_gradient_of_mode,),
    flags=METHOD | FUNCTION | OUT | OUT_ALIKE,
    infer=lambda self, dim, keepdim: _with_indices(self, axis_of("mode", self, dim), keepdim, 1),
    domain="self=index(3, a, d); self=distinct(a, b), dim=0, keepdim=True",
    arrays=False,
)
def mode(self: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The most frequent element along an axis (the smallest of several), and the index where it occurs last.

    Example:
        >>> values, indices = torch.mode(torch.tensor([1, 2, 2, 3]))
        >>> values, indices
        (tensor(2), tensor(2))
    """
    axis = axis_of("mode", self, dim)
    lanes = _lanes(self, axis)
    size = lanes.shape[-1]
    if size == 0:
        raise IndexError(f"mode: Expected reduction dim {axis} to have non-zero size.")
    order = numpy.argsort(lanes, axis=-1, kind="stable")
    ordered = numpy.take_along_axis(lanes, order, -1)
    starts = numpy.ones(ordered.shape, bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    begin = numpy.maximum.accumulate(numpy.where(starts, numpy.arange(size), 0), axis=-1)
    best = numpy.argmax(numpy.arange(size) - begin, axis=-1)[..., None]  # the end of the first of the longest runs
    values, indices = _picked(self, axis, numpy.take_along_axis(order, best, -1))
    if keepdim or self.dim() == 0:
        return values, indices
    shape = [size for place, size in enumerate(self.shape) if place != axis]
    return _ops._unsafe_view(values, shape), _ops._unsafe_view(indices, shape)


# ----------------------------------------------------------------------------------------------------------------- sums
@domain("real; real, dim=1; real, dim=0, keepdim=True")
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The sum of the elements that are not NaN.

    Raises:
        RuntimeError: complex numbers.

    Example:
        >>> torch.nansum(torch.tensor([1.0, torch.nan, 2.0]))
        tensor(3.)
    """
    if input.is_complex():
        raise RuntimeError(f"nansum: expected real numbers, got {input.dtype}; sum the parts (torch.view_as_real)")
    known = input.masked_fill(_ops.isnan(input), 0) if input.dtype.is_floating_point else input
    return known.sum(dim, keepdim, dtype=dtype)


@domain("real; real, dim=1; real, dim=0, keepdim=True")
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The mean of the elements that are not NaN; NaN where there are none.

    Raises:
        RuntimeError: integers.

    Example:
        >>> torch.nanmean(torch.tensor([1.0, torch.nan, 2.0]))
        tensor(1.5000)
    """
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"nanmean: expected input to have floating point dtype but got {input.dtype}; cast it first")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"nanmean: expected a floating point dtype, got {dtype}")
    count: Tensor = (~_ops.isnan(input)).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _gradient_by_weights(g: Tensor, self: Tensor, exponents: Tensor, dim: int) -> Tensor:
    """The transpose: the same sum, from the other end."""
    found: Tensor = _weighted_exponentials(g.flip(dim), exponents.flip(dim), self.flip(dim), dim)
    return found.flip(dim)


@operation(
    "_logcumsumexp_backward(Tensor weights, Tensor self, Tensor exponents, int dim)",
    node="LogcumsumexpBackwardBackward0",
    flags=HIDDEN,
    rules=(
        _gradient_by_weights,
        lambda g, result: g * result,
        lambda weights, grad_weights: weights * grad_weights,
    ),
    infer=lambda weights, self, exponents, dim: weights.new_empty(weights.shape),
    domain="real, dim=1; real, dim=0",
)
def _weighted_exponentials(weights: Any, self: Any, exponents: Any, dim: int) -> Any:
    """exp(self_i) * sum of weights_j exp(exponents_j) over j >= i, which may be moderate where its factors are not.

    It is linear in the weights. Their logarithms are taken here, of the positive and the negative ones apart.
    """
    nothing = numpy.finfo(self.dtype).min  # finite, so that no difference of infinities is taken

    def part(sizes: Any) -> Any:
        there = sizes > 0
        summed = numpy.where(there, numpy.log(numpy.where(there, sizes, 1)) + exponents, nothing)
        backwards = numpy.logaddexp.accumulate(numpy.flip(summed, dim), axis=dim)
        return numpy.exp(self + numpy.flip(backwards, dim))

    return part(weights) - part(-weights)


def _gradient_of_logcumsumexp(g: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """exp(x_i) * sum of g_j exp(-y_j) over j >= i."""
    if not g.numel() or not g.ndim:
        return g
    gradient: Tensor = _weighted_exponentials(g, self, -result, dim)
    return gradient


@operation(
    "_logcumsumexp(Tensor self, int dim)",
    node="LogcumsumexpBackward0",
    flags=HIDDEN,
    rules=(_gradient_of_logcumsumexp,),
    infer=lambda self, dim: self.new_empty(self.shape),
    domain="real, dim=1; real, dim=0",
)
def _logcumsumexp(self: Any, dim: int) -> Any:
    return numpy.logaddexp.accumulate(self, axis=dim) if self.ndim else self


@domain("real, dim=1; real, dim=0")
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the cumulative sum of exponentials along an axis, without overflow in between.

    Raises:
        NotImplementedError: integers.

    Example:
        >>> torch.logcumsumexp(torch.tensor([0.0, 0.0]), 0)
        tensor([0.0000, 0.6931])
    """
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"logcumsumexp: not implemented for {input.dtype}; cast it first")
    result: Tensor = _logcumsumexp(input, axis_of("logcumsumexp", input, dim))
    return result
