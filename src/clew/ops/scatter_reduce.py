"""Elements of a tensor that are reduced into the places of another."""

from __future__ import annotations

from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import HIDDEN, operation
from ._options import all_lie_in, in_place

__all__ = ["index_reduce", "scatter_reduce"]
METHODS = [*__all__, "index_reduce_", "scatter_reduce_"]

_ops: Any = _core.ops
_one, _zero = _core.tensor(1.0), _core.tensor(0.0)
_REDUCTIONS = {"sum": numpy.add, "prod": numpy.multiply, "amax": numpy.maximum, "amin": numpy.minimum}
_STARTS = {"sum": 0, "mean": 0, "prod": 1}


def _start(kind: str, dtype: Any) -> Any:
    """What a reduction starts from, where the tensor's own elements do not count."""
    if kind in _STARTS:
        return _STARTS[kind]
    info = numpy.iinfo(dtype) if dtype.kind in "iu" else None
    if kind == "amax":
        return -numpy.inf if info is None else info.min
    return numpy.inf if info is None else info.max


@operation(
    "_scatter_extremum(Tensor self, int dim, Tensor index, Tensor src, str reduce, bool include_self)",
    node="ScatterReduceBackward0",
    flags=HIDDEN,
    rules=(
        lambda g, self, dim, index, src, reduce, include_self, result: _shares(
            g, self, dim, index, src, include_self, result
        )[0],
        None,
        lambda g, self, dim, index, src, reduce, include_self, result: _shares(
            g, self, dim, index, src, include_self, result
        )[1],
    ),
    infer=lambda self, dim, index, src, reduce, include_self: self.new_empty(self.shape),
    domain="self=distinct(b, a), dim=0, index=index(3, c, a), src=real(c, a), reduce='amax', include_self=True; "
    "self=distinct(b, a), dim=0, index=index(3, c, a), src=real(c, a), reduce='amin', include_self=False",
)
def _scatter_extremum(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    result = self.copy()
    where = _places(index, dim)
    if not include_self:
        result[where] = _start(reduce, result.dtype)
    _REDUCTIONS[reduce].at(result, where, src)
    return result


def _places(index: Any, dim: int) -> tuple[Any, ...]:
    grid = list(numpy.ogrid[tuple(map(slice, index.shape))])
    grid[dim] = index
    return tuple(grid)


def _shares(
    g: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradient of each place, shared equally by all that are as extreme as the result."""
    reached = (src == result.gather(dim, index)).to(g.dtype)
    own = (self == result).to(g.dtype)
    if not include_self:
        own = own.scatter(dim, index, 0)
    share = g / own.scatter_add(dim, index, reached).clamp(min=1)
    return share * own, share.gather(dim, index) * reached


@domain(
    "input=real(b, a), dim=0, index=index(3, c, a), src=real(c, a), reduce='sum'; "
    "input=distinct(b, a), dim=0, index=index(3, c, a), src=real(c, a), reduce='amax', include_self=False; "
    "input=real(a, b), dim=1, index=index(3, a, d), src=real(a, d), reduce='mean'; "
    "input=real(a, b), dim=1, index=index(3, a, d), src=positive(a, d), reduce='prod'"
)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce the elements of `src` into the places of `input` that `index` names along an axis.

    Args:
        index: for each element of `src` the place along `dim`, int64; along the other axes the places agree, and
            `index` may be shorter than `src`.
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: False leaves out what `input` holds at a place to which anything is scattered.

    Returns:
        A copy of `input` with the reduced values.

    Raises:
        RuntimeError: an index is out of range, or another `reduce`.

    Example:
        >>> torch.scatter_reduce(torch.zeros(2), 0, torch.tensor([0, 0, 1]), torch.tensor([1.0, 2.0, 3.0]), "sum")
        tensor([3., 3.])
    """
    _check_reduce("scatter_reduce", reduce, input, src)
    if input.dim() == 0:
        lifted = scatter_reduce(
            input.reshape(1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self=include_self
        )
        return lifted.reshape(())
    dim = dim % input.dim()
    if not all_lie_in(index, 0, input.shape[dim]):
        raise RuntimeError(
            f"scatter_reduce: expected indices from 0 to {input.shape[dim] - 1} along dimension {dim}, got one beyond"
        )
    if reduce != "prod" and input.dtype in (_core.dtypes["float16"], _core.dtypes["bfloat16"]):
        # What is counted may be no half, nor a sum whose mean is one.
        wide = scatter_reduce(input.float(), dim, index, src.float(), reduce, include_self=include_self)
        return wide.to(input.dtype)
    given = src[tuple(slice(size) for size in index.shape)]
    if reduce in ("amax", "amin"):
        result: Tensor = _scatter_extremum(input, dim, index, given, reduce, include_self)
        return result
    base = input if include_self else input.scatter(dim, index, _STARTS[reduce])
    if reduce == "prod":
        return _scattered_product(base, dim, index, given)
    total = base.scatter_add(dim, index, given)
    if reduce == "sum":
        return total
    ones = input.new_ones(()).expand(given.shape)
    counts = input.new_full(tuple(input.shape), int(include_self)).scatter_add(dim, index, ones).clamp(min=1)
    return total / counts if total.dtype.is_floating_point else total.div(counts, rounding_mode="floor")


def _check_reduce(name: str, reduce: str, input: Tensor, src: Tensor) -> None:
    if reduce not in (*_REDUCTIONS, "mean"):
        raise RuntimeError(f"{name}: reduce argument must be sum, prod, mean, amax or amin, got {reduce}")
    if input.dtype != src.dtype:
        raise RuntimeError(f"{name}: expected self and src to have the same dtype, got {input.dtype} and {src.dtype}")


def _product_of_others(g: Tensor, self: Tensor, index: Tensor, src: Tensor, result: Tensor, dim: int) -> Any:
    """The gradients of both: the product of all others at the place. Zeros are counted, as one hides the others."""
    zero, own_zero = src == 0, self == 0
    others = _scattered_product(_ops.where(own_zero, _one, self), dim, index, _ops.where(zero, _one, src))
    zeros = own_zero.long().scatter_add(dim, index, zero.long())

    def share(g: Tensor, x: Tensor, is_zero: Tensor, product: Tensor, count: Tensor) -> Any:
        alone = _ops.where(is_zero & (count == 1), product, _zero)
        return g * _ops.where(count == 0, product / _ops.where(is_zero, _one, x), alone)

    at = [x.gather(dim, index) for x in (g, others, zeros)]
    return share(g, self, own_zero, others, zeros), share(at[0], src, zero, at[1], at[2])


@operation(
    "_scatter_product(Tensor self, Tensor index, Tensor src, int dim)",
    node="ScatterReduceBackward0",
    flags=HIDDEN,
    rules=(
        lambda g, self, index, src, result, dim: _product_of_others(g, self, index, src, result, dim)[0],
        None,
        lambda g, self, index, src, result, dim: _product_of_others(g, self, index, src, result, dim)[1],
    ),
    infer=lambda self, index, src, dim: self.new_empty(self.shape),
    domain="self=real(b, a), index=index(3, c, a), src=positive(c, a), dim=0",
)
def _scatter_product(self: Any, index: Any, src: Any, dim: int) -> Any:
    result = self.copy()
    numpy.multiply.at(result, _places(index, dim), src)
    return result


def _scattered_product(base: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    result: Tensor = _scatter_product(base, index, src, dim)
    return result


@domain(
    "input=real(b, a), dim=0, index=index(3, c), source=real(c, a), reduce='mean'; "
    "input=distinct(a, b), dim=1, index=index(3, d), source=real(a, d), reduce='amax', include_self=False"
)
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce the slices of `source` into the slices of `input` along an axis whose numbers are in `index`, a vector.

    Args:
        reduce: "prod", "mean", "amax" or "amin".
        include_self: False leaves out what `input` holds at a place to which anything is added.

    Raises:
        RuntimeError: another `reduce`, or an index is out of range.
        IndexError: `index` is no vector with an element for each slice.

    PyTorch warns that its form is not final.

    Example:
        >>> import warnings
        >>> x, index, source = torch.ones(2), torch.tensor([1, 1]), torch.tensor([3.0, 5.0])
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.index_reduce(x, 0, index, source, "prod")
        tensor([ 1., 15.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce: reduce argument must be prod, mean, amax or amin, got {reduce}")
    if index.dim() > 1 or index.numel() != (source.shape[dim] if source.dim() else 1):
        raise IndexError("index_reduce: expected index to be a vector with an element for each slice of source")
    shape = [1] * max(source.dim(), 1)
    shape[dim] = -1
    places = index.reshape(shape).expand(source.shape) if source.dim() else index.reshape(())
    return scatter_reduce(input, dim, places, source, reduce, include_self=include_self)


scatter_reduce_ = in_place(
    scatter_reduce,
    "input=real(b, a), dim=0, index=index(3, c, a), src=real(c, a), reduce='sum'; "
    "input=distinct(b, a), dim=0, index=index(3, c, a), src=real(c, a), reduce='amin'",
)
index_reduce_ = in_place(index_reduce, "input=real(b, a), dim=0, index=index(3, c), source=real(c, a), reduce='mean'")
