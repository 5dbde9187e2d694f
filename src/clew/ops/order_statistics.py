"""Statistics that go by the order of elements: extremes so far, quantiles, the most frequent; and what skips NaNs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from .. import _core
from .._core import Tensor, dtype
from .._domains import domain
from .._operation import FUNCTION, HIDDEN, METHOD, OUT, OUT_ALIKE, operation
from ._options import axis_of
from .ranges import linspace

__all__ = [
    "aminmax",
    "histc",
    "histogram",
    "isin",
    "logcumsumexp",
    "nanmean",
    "nanquantile",
    "nansum",
    "quantile",
]
METHODS = [name for name in __all__ if name != "isin"]

_ops: Any = _core.ops
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _lanes(input: Tensor, axis: int) -> Any:
    """The elements as an array whose last axis is the one that is gone along."""
    return numpy.moveaxis(numpy.atleast_1d(input.detach().numpy()), axis, -1)


def _picked(input: Tensor, axis: int, positions: Any) -> tuple[Tensor, Tensor]:
    """The elements at positions along the axis (the last one of `positions`), and the positions."""
    turned = numpy.moveaxis(positions, -1, axis)
    indices = _core.from_numpy(numpy.ascontiguousarray(turned).reshape(turned.shape if input.dim() else ()))
    return _ops.gather(input, axis, indices), indices


# ------------------------------------------------------------------------------------------------------------- extremes
class _MinMax(NamedTuple):
    min: Tensor
    max: Tensor


@domain("distinct; distinct, dim=1; distinct, dim=0, keepdim=True")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> _MinMax:
    """The smallest and the largest element, of all or along an axis.

    Raises:
        RuntimeError: there is none; IndexError along an axis.

    >>> import clew
    >>> clew.aminmax(clew.tensor([3, 1, 2])).max
    tensor(3)
    """
    if not (input.numel() if dim is None else max(input.dim(), 1) and (input.dim() == 0 or input.shape[dim])):
        kind = RuntimeError if dim is None else IndexError
        raise kind("aminmax: cannot compute aminmax over an empty dimension as the operation has no identity")
    dims = () if dim is None else dim
    return _MinMax(input.amin(dims, keepdim), input.amax(dims, keepdim))


class _Values(NamedTuple):
    values: Tensor
    indices: Tensor


def _define_running(name: str, extreme: Any, reaches: Any, which: str) -> None:
    def running(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        axis = axis_of(name, self, dim)
        lanes = _lanes(self, axis)
        with numpy.errstate(invalid="ignore"):
            new = (lanes != lanes) | reaches(lanes, extreme.accumulate(lanes, axis=-1))
        positions = numpy.where(new, numpy.arange(lanes.shape[-1]), 0)
        return _picked(self, axis, numpy.maximum.accumulate(positions, axis=-1))

    running.__doc__ = f"The {which} element so far along an axis, and where it was last. A NaN stays."
    operation(
        f"{name}(Tensor self, int dim)",
        outputs="values indices",
        rules=(lambda g_values, indices, dim: g_values.new_zeros(g_values.shape).scatter_add(dim, indices, g_values),),
        flags=METHOD | FUNCTION | OUT | OUT_ALIKE,
        domain="self=distinct(a, d), dim=1; self=distinct(c, a), dim=0",
        arrays=False,
    )(running)


_define_running("cummax", numpy.maximum, numpy.greater_equal, "largest")
_define_running("cummin", numpy.minimum, numpy.less_equal, "smallest")


def _gradient_of_mode(g_values: Tensor, self: Tensor, indices: Tensor, dim: int, keepdim: bool) -> Tensor:
    if not keepdim and self.dim():
        g_values, indices = g_values.unsqueeze(dim), indices.unsqueeze(dim)
    return self.new_zeros(self.shape).scatter(dim, indices, g_values)


@operation(
    "mode(Tensor self, int dim=-1, bool keepdim=False)",
    outputs="values indices",
    rules=(_gradient_of_mode,),
    flags=METHOD | FUNCTION | OUT | OUT_ALIKE,
    domain="self=index(3, a, d); self=distinct(a, b), dim=0, keepdim=True",
    arrays=False,
)
def mode(self: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The most frequent element along an axis (the smallest of several), and where it stands last."""
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


# ------------------------------------------------------------------------------------------------------------ quantiles
@domain("input=distinct(d), q=0.3; input=distinct(a, d), q=constant(fraction(b)), dim=1, keepdim=True")
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The value below which a share `q` of the elements lies; NaN where one of them is NaN.

    Args:
        input: floating.
        q: from 0 to 1; a vector of several shares, of the same dtype, gives a first axis for them.
        dim: the axis; all elements without it.
        interpolation: between two neighbours: "linear", "lower", "higher", "midpoint" or "nearest".

    Raises:
        RuntimeError: no elements, a share beyond 0 and 1, dtypes that do not fit.

    >>> import clew
    >>> clew.quantile(clew.tensor([1.0, 2.0, 4.0]), 0.75)
    tensor(3.)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, skips=False)


@domain("input=distinct(d), q=0.3; input=distinct(a, d), q=constant(fraction(b)), dim=1, keepdim=True")
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """`quantile` of the elements that are not NaN; NaN where there are none."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, skips=True)


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, *, skips: bool
) -> Tensor:
    shares = _shares(name, input, q, interpolation)
    axis = 0 if dim is None else axis_of(name, input, dim)
    x = input.reshape(-1) if dim is None or input.dim() == 0 else input
    ordered = _ops.sort(x, axis)[0].movedim(axis, -1)  # NaNs come last
    missing = _ops.isnan(ordered)
    last = (~missing).sum(-1, keepdim=True) - 1 if skips else _core.tensor(ordered.shape[-1] - 1)
    rank = shares.reshape(-1) * last
    below, above = rank.floor(), rank.ceil()
    if interpolation in ("lower", "higher", "nearest"):
        chosen = {"lower": below, "higher": above, "nearest": rank.round()}[interpolation]
        result = _at(ordered, chosen)
    else:
        weight = _core.tensor(0.5, dtype=input.dtype) if interpolation == "midpoint" else rank - below
        result = _ops.lerp(_at(ordered, below), _at(ordered, above), weight)
    if not skips:
        result = result.masked_fill(missing.any(-1, keepdim=True), math.nan)
    result = result.movedim(-1, 0)  # the shares first
    if keepdim:
        result = result.unsqueeze(axis + 1) if dim is not None else result.reshape(-1, *[1] * input.dim())
    return result if shares.dim() else result.squeeze(0)


def _shares(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    """The shares as a tensor of the input's dtype, checked."""
    if not isinstance(q, Tensor | float | int):
        raise TypeError(f"{name}: expected q to be a number or a tensor, got {type(q).__name__}; make a tensor of it")
    if input.numel() == 0:
        raise RuntimeError(f"{name}: input tensor must be non-empty")
    if str(input.dtype) not in ("torch.float32", "torch.float64"):
        raise RuntimeError(f"{name}: input tensor must be either float or double dtype, got {input.dtype}")
    shares: Tensor = q if isinstance(q, Tensor) else _core.tensor(float(q), dtype=input.dtype)
    if shares.dim() > 1:
        raise RuntimeError(f"{name}: q must be a scalar or 1D tensor, got shape {list(shares.shape)}")
    if shares.dtype != input.dtype:
        raise RuntimeError(f"{name}: q tensor must be same dtype as the input tensor, got {shares.dtype}")
    if not ((shares >= 0) & (shares <= 1)).all():
        raise RuntimeError(f"{name}: q must be in the range [0, 1] but got {q}")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}: interpolation must be one of {', '.join(_INTERPOLATIONS)}, but got {interpolation}"
        )
    return shares


def _at(ordered: Tensor, rank: Tensor) -> Tensor:
    """The elements of these ranks along the last axis."""
    index = rank.detach().clamp(min=0).long()
    result: Tensor = _ops.gather(ordered, -1, index.expand(*ordered.shape[:-1], index.shape[-1]))
    return result


# ----------------------------------------------------------------------------------------------------------------- sums
@domain("real; real, dim=1; real, dim=0, keepdim=True")
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The sum of the elements that are not NaN.

    >>> import clew
    >>> clew.nansum(clew.tensor([1.0, clew.nan, 2.0]))
    tensor(3.)
    """
    known = input.masked_fill(_ops.isnan(input), 0) if input.dtype.is_floating_point else input
    return known.sum(dim, keepdim, dtype=dtype)


@domain("real; real, dim=1; real, dim=0, keepdim=True")
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The mean of the elements that are not NaN; NaN where there are none."""
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"nanmean: expected input to have floating point dtype but got {input.dtype}; cast it first")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"nanmean: expected a floating point dtype, got {dtype}")
    count: Tensor = (~_ops.isnan(input)).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _gradient_of_logcumsumexp(g: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """exp(x_i) * sum of g_j exp(-y_j) over j >= i, for the positive and the negative g_j apart, by their logarithms."""

    if not g.numel() or not g.ndim:
        return g

    def part(size: Tensor) -> Tensor:
        exponents = _ops.where(size > 0, _ops.where(size > 0, size, _one).log() - result, _nothing)
        return (self + logcumsumexp(exponents.flip(dim), dim).flip(dim)).exp()

    return part(g) - part(-g)


_one, _nothing = _core.tensor(1.0), _core.tensor(-math.inf)


@operation(
    "_logcumsumexp(Tensor self, int dim)",
    node="LogcumsumexpBackward0",
    flags=HIDDEN,
    rules=(_gradient_of_logcumsumexp,),
    domain="real, dim=1; real, dim=0",
)
def _logcumsumexp(self: Any, dim: int) -> Any:
    return numpy.logaddexp.accumulate(self, axis=dim) if self.ndim else self


@domain("real, dim=1; real, dim=0")
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the cumulative sum of exponentials along an axis, without overflow in between.

    >>> import clew
    >>> clew.logcumsumexp(clew.tensor([0.0, 0.0]), 0)
    tensor([0.0000, 0.6931])
    """
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"logcumsumexp: not implemented for {input.dtype}; cast it first")
    result: Tensor = _logcumsumexp(input, axis_of("logcumsumexp", input, dim))
    return result


# --------------------------------------------------------------------------------------------------------------- counts
def _range(name: str, low: float, high: float, beyond: float) -> tuple[float, float]:
    """The limits of a histogram, so much further if they are equal."""
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min, got {low} and {high}")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low:g}, {high:g}] is not finite")
    return (low - beyond, high + beyond) if low == high else (low, high)


def _floats(name: str, input: Tensor) -> Any:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"{name}: not implemented for {input.dtype}; cast it first")
    return input.detach().numpy().reshape(-1)


@domain("input=constant(real(d)), bins=4; input=constant(real(d)), bins=3, min=-1, max=2")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal parts of [min, max]; without limits, from the least to the largest.

    >>> import clew
    >>> clew.histc(clew.tensor([1.0, 2.0, 2.0, 4.0]), bins=3)
    tensor([1., 2., 1.])
    """
    if bins <= 0:
        raise RuntimeError(f"histc: bins must be > 0, but got {bins}")
    array = _floats("histc", input)
    low, high = float(min), float(max)
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    low, high = numpy.array(_range("histc", low, high, 1.0), array.dtype)
    inside = array[(array >= low) & (array <= high)]
    with numpy.errstate(all="ignore"):  # no range beside large numbers
        places = numpy.nan_to_num((inside - low) * bins / (high - low), nan=bins // 2)
    counts = numpy.bincount(places.clip(0, bins - 1).astype(int), minlength=bins)
    result: Tensor = _core.from_numpy(counts.astype(array.dtype))
    return result


class _Histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor


def _no_slope(g_hist: Tensor | None, g_bin_edges: Tensor | None) -> Tensor:
    raise RuntimeError("derivative for aten::histogram is not implemented; detach() the input")


@operation(
    "_histogram(Tensor self, Tensor bins, Tensor? weight=None, *, bool density=False)",
    outputs="hist bin_edges",
    node="torch::autograd::NotImplemented",
    flags=HIDDEN,
    rules=(_no_slope, _no_slope, _no_slope),
    domain="self=constant(real(d)), bins=constant(ascending(c))",
)
def _histogram(self: Any, bins: Any, weight: Any, density: bool) -> Any:
    """How many elements lie in each bin, and the edges of the bins. The last one has both of its edges."""
    count = len(bins) - 1
    places = numpy.where(self == bins[-1], count - 1, numpy.searchsorted(bins, self, "right") - 1)
    inside = (self >= bins[0]) & (self <= bins[-1])
    weights = None if weight is None else weight.reshape(-1)[inside]
    hist = numpy.bincount(places[inside], weights, count).astype(self.dtype)
    return hist / hist.sum() / numpy.diff(bins) if density else hist, bins


@domain("input=constant(real(d)), bins=4; input=constant(real(d)), bins=constant(ascending(c))")
def histogram(
    input: Tensor,
    bins: int | Tensor,
    *,
    range: tuple[float, float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> _Histogram:
    """How many elements lie in each bin, and the edges of the bins.

    Args:
        bins: how many equal ones, or an ascending vector of edges.
        range: the least and the largest edge of equal ones; by default the least and the largest element.
        weight: for how much each element counts.
        density: divide so that the integral is 1.

    >>> import clew
    >>> clew.histogram(clew.tensor([1.0, 2.0, 2.0, 4.0]), 3).hist
    tensor([1., 2., 1.])
    """
    array = _floats("histogram", input)
    if not isinstance(bins, Tensor):
        low, high = (0.0, 1.0) if range is None else map(float, range)
        if range is None and array.size:
            low, high = float(array.min()), float(array.max())
        low, high = _range("histogram", low, high, 0.5)
        bins = linspace(low, high, max(bins, 0) + 1, dtype=input.dtype)
    if bins.dim() != 1 or bins.shape[0] < 2:
        raise RuntimeError(f"histogram: expected one bin or more, and edges of one axis, got {list(bins.shape)}")
    if bins.dtype != input.dtype or (weight is not None and weight.dtype != input.dtype):
        raise RuntimeError("histogram: input, bins and weight should have the same dtype; cast them")
    if weight is not None and weight.numel() != input.numel():
        raise RuntimeError(
            f"histogram: if weight tensor is provided it should have the same shape as the input, got "
            f"{list(weight.shape)} and {list(input.shape)}"
        )
    return _Histogram(*_histogram(input.reshape(-1), bins, weight, density=density))


@domain("elements=index(5, a, b), test_elements=index(5, a); elements=index(5, a, b), test_elements=2, invert=True")
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is one of `test_elements`.

    Args:
        elements, test_elements: tensors, or one of them a number.
        assume_unique: of no importance here.
        invert: whether it is none of them.

    >>> import clew
    >>> clew.isin(clew.tensor([1, 2, 3]), clew.tensor([2, 5]))
    tensor([False,  True, False])
    """
    if any(isinstance(one, Tensor) and one.dtype == _core.dtypes["bool"] for one in (elements, test_elements)):
        raise RuntimeError("isin: Unsupported input type encountered for isin(): Bool; cast it")
    if not any(isinstance(one, Tensor) for one in (elements, test_elements)):
        raise TypeError("isin: expected at least one tensor, got two numbers")
    given, among = (one.detach().numpy() if isinstance(one, Tensor) else one for one in (elements, test_elements))
    result: Tensor = _core.from_numpy(numpy.asarray(numpy.isin(given, among, invert=invert)))
    return result
