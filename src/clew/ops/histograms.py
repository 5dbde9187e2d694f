"""How many elements lie in each part of a range."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy

from .._core import Tensor, dtypes
from .._domains import domain
from .._numeric import array_of
from .._operation import HIDDEN, operation
from ._options import need_values
from .ranges import linspace

__all__ = METHODS = ["histc", "histogram"]


def _range(name: str, low: float, high: float, beyond: float) -> tuple[float, float]:
    """The limits of a histogram, so much further if they are equal."""
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min, got {low} and {high}")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low:g}, {high:g}] is not finite")
    return (low - beyond, high + beyond) if low == high else (low, high)


def _check_floats(name: str, input: Tensor) -> None:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"{name}: not implemented for {input.dtype}; cast it first")
    need_values(name, input)


@domain("input=constant(real(d)), bins=4; input=constant(real(d)), bins=3, min=-1, max=2")
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The number of elements in each of `bins` equal intervals of [min, max]; without limits, of the elements' range.

    The last interval includes `max`; elements outside are not counted.

    Raises:
        RuntimeError: no bins, a range that is empty or not finite.
        NotImplementedError: integers.

    Example:
        >>> torch.histc(torch.tensor([1.0, 2.0, 2.0, 4.0]), bins=3)
        tensor([1., 2., 1.])
    """
    if bins <= 0:
        raise RuntimeError(f"histc: bins must be > 0, but got {bins}")
    _check_floats("histc", input)
    result: Tensor = _histc(input.reshape(-1), bins=bins, min=float(min), max=float(max))
    return result


@operation(
    "_histc(Tensor self, *, int bins, float min, float max)",
    infer=lambda self, bins, min, max: self.new_empty(bins),
    domain="self=constant(real(d)), bins=4, min=-1.0, max=2.0",
)
def _histc(self: Any, bins: int, min: float, max: float) -> Any:
    """How many elements lie in each of equal bins."""
    array, low, high = self, min, max
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    low, high = numpy.array(_range("histc", low, high, 1.0), array.dtype)
    inside = array[(array >= low) & (array <= high)]
    with numpy.errstate(all="ignore"):  # no range beside large numbers
        width = high - low
        if numpy.isfinite(width):
            places = numpy.nan_to_num((inside - low) * bins / width, nan=bins // 2)
        else:  # beyond the largest number
            places = (inside / 2 - low / 2) / (high / 2 - low / 2) * bins
    counts = numpy.bincount(places.clip(0, bins - 1).astype(int), minlength=bins)
    return counts.astype(array.dtype)


@operation(
    "_bin_edges(Tensor self, *, int bins)",
    infer=lambda self, bins: self.new_empty(bins + 1),
    flags=HIDDEN,
    domain="self=constant(real(d)), bins=4",
)
def _bin_edges(self: Any, bins: int) -> Any:
    """The edges of equal bins over the elements' range."""
    low, high = (float(self.min()), float(self.max())) if self.size else (0.0, 1.0)
    low, high = _range("histogram", low, high, 0.5)
    kind = dtypes[str(self.dtype)]
    return array_of(linspace(low, high, bins + 1, dtype=kind))


def _equal_bins(input: Tensor, bins: int, range: tuple[float, float] | None) -> Tensor:
    """Their edges."""
    if range is None:
        edges: Tensor = _bin_edges(input.detach().reshape(-1), bins=bins)
        return edges
    low, high = _range("histogram", float(range[0]), float(range[1]), 0.5)
    return linspace(low, high, bins + 1, dtype=input.dtype)


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
    infer=lambda self, bins, weight, density: (self.new_empty(len(bins) - 1), bins.new_empty(bins.shape)),
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
    """The number of elements in each bin, as `hist`, and the edges of the bins, as `bin_edges`.

    Args:
        bins: the number of equal bins, or their edges, ascending.
        range: the smallest and the largest edge of equal bins; by default the elements' range.
        weight: a weight for each element, of the input's shape.
        density: divide so that the integral is 1.

    Raises:
        RuntimeError: no bins, a range that is empty or not finite, or dtypes or shapes that do not fit.
        NotImplementedError: integers.

    Example:
        >>> hist, edges = torch.histogram(torch.tensor([1.0, 2.0, 2.0, 4.0]), 3)
        >>> hist, edges
        (tensor([1., 2., 1.]), tensor([1., 2., 3., 4.]))
    """
    _check_floats("histogram", input)
    if not isinstance(bins, Tensor):
        bins = _equal_bins(input, max(bins, 0), range)
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
