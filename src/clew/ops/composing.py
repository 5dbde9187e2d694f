"""Small compositions: products added to a tensor, norms held below a limit, shapes and places."""

from __future__ import annotations

import builtins
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .. import _core
from .._core import Tensor, dtype
from .._domains import domain
from .._numeric import promote_types
from .._out import filled
from ._options import in_place
from .from_data import tensor

__all__ = [
    "addbmm",
    "addr",
    "combinations",
    "diagflat",
    "range",
    "renorm",
    "unravel_index",
]
METHODS = [
    "addbmm",
    "addbmm_",
    "addr",
    "addr_",
    "diagflat",
    "fill_diagonal_",
    "renorm",
    "renorm_",
    "sum_to_size",
]

_ops: Any = _core.ops


# ------------------------------------------------------------------------------------------------------------- products
def _added(name: str, input: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    if not (input.dtype.is_floating_point or product.dtype.is_floating_point):
        for what, value in (("beta", beta), ("alpha", alpha)):
            if isinstance(value, float):
                raise RuntimeError(
                    f"{name}: For integral input tensors, argument {what} must not be a floating point number."
                )
    input.expand(product.shape)  # or it does not fit
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:  # what is in the input does not count, not even NaN
        return scaled
    return (input if beta == 1 else input * beta) + scaled


@domain("input=real(a, b), vec1=real(a), vec2=real(b); input=real(b), vec1=real(a), vec2=real(b), beta=0.5, alpha=2")
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`.

    Args:
        input: broadcast to (n, m); with `beta=0` its values are not read.
        vec1, vec2: of shapes (n) and (m).

    Raises:
        RuntimeError: the vectors have other shapes, `input` does not fit, or a float factor where all are integers.

    Example:
        >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    if vec1.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(f"addr: Expected 1-D vectors, got shapes {list(vec1.shape)} and {list(vec2.shape)}")
    product = _ops.outer(vec1.to(promote_types(input.dtype, vec1.dtype)), vec2)
    return filled("addr", _added("addr", input.to(product.dtype), product, beta, alpha), out)


@domain("input=real(b, c), batch1=real(a, b, d), batch2=real(a, d, c), beta=0.5, alpha=2")
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * sum over b of batch1[b] @ batch2[b]`.

    Args:
        input: broadcast to (n, p); with `beta=0` its values are not read.
        batch1, batch2: of shapes (b, n, m) and (b, m, p).

    Raises:
        RuntimeError: shapes or dtypes do not fit, or a float factor where all are integers.

    Example:
        >>> torch.addbmm(torch.zeros(1, 1), torch.ones(3, 1, 2), torch.ones(3, 2, 1))
        tensor([[6.]])
    """
    result = _added("addbmm", input, _ops.bmm(batch1, batch2).sum(0), beta, alpha).contiguous()
    return filled("addbmm", result, out)


@domain("real; input=real(c), offset=-1")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A square matrix with the elements of the flattened tensor on its diagonal, or `offset` above it, zeros elsewhere.

    Example:
        >>> torch.diagflat(torch.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    result: Tensor = _ops.diag(input.contiguous().view(-1), offset)
    return result


addr_ = in_place(addr, "input=real(a, b), vec1=real(a), vec2=real(b)")
addbmm_ = in_place(addbmm, "input=real(b, c), batch1=real(a, b, d), batch2=real(a, d, c), beta=0.5")


@domain("input=real(b, a, c), p=2, dim=0, maxnorm=1; input=real(b, a), p=1, dim=1, maxnorm=2")
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale each slice along `dim` whose p-norm is above `maxnorm` down to it; leave the others.

    Raises:
        RuntimeError: `p` is not positive, `maxnorm` is negative, or fewer than two dimensions.

    Example:
        >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    if p <= 0 or maxnorm < 0:
        raise RuntimeError(f"renorm: expected a positive p and maxnorm >= 0, got p={p} and maxnorm={maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    input.size(dim)  # or there is no such axis
    others = [axis for axis in builtins.range(input.dim()) if axis != dim % input.dim()]
    norm = input.norm(p, others, keepdim=True)
    above, one = norm > maxnorm, _core.tensor(1.0, dtype=input.dtype)
    # Not by maxnorm / norm, whose derivative of huge numbers is 0.
    part: Tensor = input.contiguous() / _ops.where(above, norm + 1e-7, one)
    factor: Tensor = _ops.where(above, maxnorm * one, one)
    return part * factor


renorm_ = in_place(renorm, "input=real(b, a), p=2, dim=0, maxnorm=1")


# ---------------------------------------------------------------------------------------------------- shapes, places
@domain("input=real(c); input=real(b), r=3, with_replacement=True")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, one in each row, in the order of `itertools.combinations`.

    Args:
        input: one dimension, n elements.
        with_replacement: an element may be chosen several times.

    Returns:
        Shape (number of choices, r).

    Raises:
        RuntimeError: the input is no vector, or `r` is negative.

    Example:
        >>> torch.combinations(torch.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    choose: Callable[..., Any] = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    if r == 0:
        return input.new_empty(0)
    places = _core.tensor(list(choose(builtins.range(input.shape[0]), r)), dtype=_core.dtypes["int64"])
    return input[places.reshape(-1, r)]


@domain("indices=index(12, d), shape=(3, 4)")
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Flat indices into a tensor of this shape as one tensor of indices for each axis, the inverse of row-major order.

    Raises:
        TypeError: the indices are no integers.
        ValueError: a negative size.

    Example:
        >>> torch.unravel_index(torch.tensor([5, 7]), (3, 3))
        (tensor([1, 2]), tensor([2, 1]))
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if indices.dtype.is_floating_point or indices.dtype == _core.dtypes["bool"]:
        raise TypeError(f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index: 'shape' cannot have negative values, but got {sizes}")
    steps = [math.prod(sizes[axis + 1 :]) for axis in builtins.range(len(sizes))]
    whole, every = (_core.tensor(one, dtype=_core.dtypes["int64"]).to(indices.device) for one in (steps, sizes))
    places: tuple[Tensor, ...] = (indices.unsqueeze(-1).floor_divide(whole) % every).unbind(-1)
    return places


@domain("input=real(a, b, c), size=[(1, 3, 4)]; input=real(a, b), size=[3]")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the axes that a smaller shape would be broadcast along.

    Raises:
        RuntimeError: this shape cannot be broadcast to the tensor's.

    Example:
        >>> torch.ones(2, 3).sum_to_size(3)
        tensor([2., 2., 2.])
    """
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    lead = input.dim() - len(shape)
    fits = lead >= 0 and all(one in (1, old) for one, old in zip(shape, input.shape[lead:], strict=True))
    if not fits:
        raise RuntimeError(f"sum_to_size: size {{{list(shape)}}} is not expandable to size {{{list(input.shape)}}}.")
    axes = [
        axis
        for axis in builtins.range(input.dim())
        if axis < lead or (shape[axis - lead] == 1 and input.shape[axis] != 1)
    ]
    return input.sum(axes, keepdim=True).reshape(shape) if axes else input


@domain("self=real(b, b), fill_value=2.5; self=real(c, a), fill_value=1, wrap=True")
def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number onto the main diagonal, in place.

    Args:
        wrap: in a matrix with more rows than columns, begin anew after each square and an empty row.

    Raises:
        RuntimeError: fewer than two axes, or more of different sizes.

    Example:
        >>> torch.zeros(2, 2).fill_diagonal_(1).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    shape = tuple(self.shape)
    if self.dim() < 2:
        raise RuntimeError(f"fill_diagonal_: dimensions must larger than 1, got shape {list(shape)}")
    if self.dim() > 2 and len(set(shape)) > 1:
        raise RuntimeError(f"fill_diagonal_: all dimensions of input must be of equal length, got {list(shape)}")
    step, square = builtins.sum(self.stride()), shape[1] + 1
    self.as_strided((min(shape),), (step,)).fill_(fill_value)
    if not wrap or self.dim() > 2 or shape[0] <= square:
        return self
    if self.stride(0) == self.stride(1) * shape[1]:  # one diagonal goes on through all squares
        count = (self.numel() + shape[1]) // square - shape[1]
        self.as_strided((count,), (step,), self.storage_offset() + self.stride(0) * square).fill_(fill_value)
        return self
    for first in builtins.range(square, shape[0], square):
        part = self[first:]
        part.as_strided((min(part.shape),), (step,)).fill_(fill_value)
    return self


@domain("unsampled, 'it warns; arange is sampled'")
def range(start: float = 0, end: float | None = None, step: float = 1, *, dtype: dtype | None = None) -> Tensor:
    """The numbers from `start` to `end` inclusive, in steps of `step`. Deprecated, with a warning: use `arange`.

    Raises:
        RuntimeError: the step leads away from `end`.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.range(1, 4)
        tensor([1., 2., 3., 4.])
    """
    warnings.warn("range: it is deprecated and includes the end; use arange, which does not", UserWarning, stacklevel=2)
    first, last = (0, start) if end is None else (start, end)
    if step == 0 or (last - first) / step < 0:
        raise RuntimeError(
            f"range: upper bound and lower bound inconsistent with step sign, got {first}, {last}, {step}"
        )
    count = int((last - first) / step) + 1
    kind = dtype or _core.get_default_dtype()
    values = first + step * numpy.arange(count)
    return tensor(values).to(kind)
