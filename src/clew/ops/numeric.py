"""Sums by the trapezoidal rule, counts, distances, Kronecker products."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._out import filled
from .._samples import any_true
from ._options import all_lie_in, need_values
from .rearrange import triu_indices

__all__ = [
    "bincount",
    "cdist",
    "cumulative_trapezoid",
    "kron",
    "pdist",
    "positive",
    "trapezoid",
    "trapz",
]
METHODS = ["bincount", "kron", "positive"]

_ops: Any = _core.ops
_BOOL = _core.dtypes["bool"]


@domain("input=index(4, b); input=index(4, b), weights=real(b), minlength=6")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """The frequency of each integer: element i of the result is the number of elements that are i.

    Args:
        input: one axis of integers that are not negative.
        weights: sum these instead of counting, one for each element.
        minlength: the least length of the result.

    Returns:
        Shape (max(largest element + 1, minlength)). int64 without weights, float32 for weights of float32, float64 for
        others.

    Raises:
        RuntimeError: more dimensions, negative numbers, or weights of another shape.
        NotImplementedError: the input is floating or bool.

    Example:
        >>> torch.bincount(torch.tensor([1, 1, 3]))
        tensor([0, 2, 0, 1])
    """
    if input.dtype.is_floating_point or input.dtype == _core.dtypes["bool"]:
        raise NotImplementedError(f"bincount: expected integers, got {input.dtype}; cast it by .long()")
    need_values("bincount", input)
    if input.dim() != 1 or (input.numel() and any_true(input < 0)):
        raise RuntimeError("bincount: only supports 1-d non-negative integral inputs; flatten it")
    if minlength < 0:
        raise RuntimeError(f"bincount: minlength should be >= 0, got {minlength}")
    if not input.numel():
        return input.new_zeros(minlength, dtype=_core.dtypes["int64"])
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(
            f"bincount: weights should be 1-d and have the same length as input, got shapes {list(weights.shape)} and "
            f"{list(input.shape)}"
        )
    count = minlength if all_lie_in(input, 0, minlength) else int(input.max()) + 1
    index = input.long()
    if weights is None:
        return index.new_zeros(count).index_add(0, index, index.new_ones(index.shape))
    if weights.dtype != _core.dtypes["float32"]:
        weights = weights.double()
    return weights.new_zeros(count).index_add(0, index, weights)


# ------------------------------------------------------------------------------------------------- the trapezoidal rule
def _integral(name: str, y: Tensor, x: Tensor | None, dx: Any, dim: int, running: bool) -> Tensor:
    """The sum, or sums, of the areas below each two neighbours along the axis."""
    count = y.size(dim)
    if x is not None and dx is not None:
        raise TypeError(f"{name}: expected x or dx, got both")
    dim %= max(y.dim(), 1)
    if not (count or running):
        return y.new_zeros(y.shape[:dim] + y.shape[dim + 1 :])
    if _BOOL in (y.dtype, x.dtype if x is not None else None):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported; cast it")
    step = 1.0 if dx is None else float(dx)
    if x is None and not running:
        return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * step
    first, second = _sides(y, dim)
    heights = first + second
    if x is None:
        return (heights * (step / 2)).cumsum(dim)
    if x.dim() == 1:
        if x.shape[0] != count:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point; got {list(x.shape)} for "
                               f"{list(y.shape)}")  # fmt: skip
        x = x.view([-1 if axis == dim else 1 for axis in range(y.dim())])
    elif x.dim() < y.dim():
        x = x.view([1] * (y.dim() - x.dim()) + list(x.shape))
    left, right = _sides(x, dim)
    areas = heights * (right - left)
    return (areas.cumsum(dim) if running else areas.sum(dim)) / 2.0


def _sides(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Each element but the last along the axis, and the one after it."""
    count = max(x.size(dim) - 1, 0)
    return x.narrow(dim, 0, count), x.narrow(dim, x.size(dim) - count, count)


@domain("y=real(a, b); y=real(a, b), dx=0.5, dim=0; y=real(a, b), x=real(b); y=real(a, b, c), x=real(b, c), dim=1")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule: the sum of `(y[i] + y[i + 1]) / 2 * (x[i + 1] - x[i])`.

    Args:
        x: where the samples are: one for each along the axis, or a shape that broadcasts with y's.
        dx: the distance of samples instead, 1 by default.

    Raises:
        TypeError: both are given.
        RuntimeError: shapes do not fit, or bools.

    Example:
        >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
        tensor(4.)
    """
    return _integral("trapezoid", y, x, dx, dim, running=False)


trapz = trapezoid


@domain("y=real(a, b); y=real(a, b), dx=0.5, dim=0; y=real(a, b), x=real(b)")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral from the first sample to each other one, by the trapezoidal rule. Arguments as for `trapezoid`.

    Example:
        >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 3.0]))
        tensor([1.5000, 4.0000])
    """
    return _integral("cumulative_trapezoid", y, x, dx, dim, running=True)


# ---------------------------------------------------------------------------------------------------------------- pairs
@domain("x1=real(a, c), x2=real(b, c); x1=real(a, b, c), x2=real(d, c), p=3.0; x1=real(a, c), x2=real(b, c), p=1.0; "
        "x1=real(a, c), x2=real(b, c), p=float('inf')")  # fmt: skip
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distance of each row of `x1` to each row of `x2`.

    Args:
        x1: shape (*, n, k), floating.
        x2: shape (*, m, k).
        p: the order of the norm, 0 or more.
        compute_mode: accepted; differences are always taken.

    Returns:
        Shape (*, n, m).

    Raises:
        ValueError: another `compute_mode`.
        RuntimeError: integers, different dtypes, sizes that do not fit, fewer than two dimensions, or a negative p.

    Example:
        >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [1.0, 0.0]]))
        tensor([[5., 1.]])
    """
    if compute_mode not in (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    ):
        raise ValueError(f"cdist: {compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"cdist: only supports floating-point dtypes, {name} got: {x.dtype}")
        if x.dim() < 2:
            raise RuntimeError(f"cdist: only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.dtype != x2.dtype:
        raise RuntimeError(f"cdist: expected tensors of one dtype, got {x1.dtype} and {x2.dtype}; cast one")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist: X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist: only supports non-negative p values, got {p}")
    return _distances(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def _distances(differences: Tensor, p: float) -> Tensor:
    if not differences.shape[-1]:
        return differences.sum(-1)
    if p == 0:  # how many differ, or NaN
        return differences.abs().ceil().clamp(max=1).sum(-1)
    result: Tensor = _ops.linalg_vector_norm(differences, p, -1)
    return result


@domain("input=real(c, b)")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances of all pairs of rows: (0, 1), (0, 2), ..., (1, 2), ...

    Args:
        input: shape (n, k), floating.

    Returns:
        Shape (n (n - 1) / 2).

    Raises:
        RuntimeError: the input is no matrix, is not floating, or `p` is negative.

    Example:
        >>> torch.pdist(torch.tensor([[0.0], [1.0], [3.0]]))
        tensor([1., 3., 2.])
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist: only supports 2D tensors, got: {input.dim()}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"pdist: only supports floating-point dtypes, got {input.dtype}; cast it first")
    if p < 0:
        raise RuntimeError(f"pdist: only supports non-negative p values, got {p}")
    first, second = triu_indices(input.shape[0], input.shape[0], 1, device="cpu")
    return _distances(input[first] - input[second], p)


@domain("input=real(a, b), other=real(b, a); input=real(b), other=real(a, b)")
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: a block matrix whose blocks are the elements of `input` times `other`.

    Returns:
        Along each axis the product of both sizes; missing leading axes count as 1.

    Example:
        >>> torch.kron(torch.eye(2), torch.tensor([1.0, 2.0]))
        tensor([[1., 2., 0., 0.],
                [0., 0., 1., 2.]])
    """
    rank = max(input.dim(), other.dim())
    left, right = ([1] * (rank - x.dim()) + list(x.shape) for x in (input, other))
    inner = [size for a in left for size in (a, 1)]
    outer = [size for b in right for size in (1, b)]
    product = (_ops._unsafe_view(input, inner) * _ops._unsafe_view(other, outer)).contiguous()
    result: Tensor = _ops._unsafe_view(product, [a * b for a, b in zip(left, right, strict=True)])
    return filled("kron", result, out)


@domain("real")
def positive(input: Tensor) -> Tensor:
    """The tensor itself, as `+x` gives it.

    Raises:
        RuntimeError: it is bool.
        TypeError: it is no tensor.

    Example:
        >>> torch.positive(torch.tensor([-1.0, 2.0]))
        tensor([-1.,  2.])
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"positive: expected a Tensor, got {type(input).__name__}")
    if input.dtype == _core.dtypes["bool"]:
        raise RuntimeError("positive: The `+` operator, on a bool tensor is not supported; cast it")
    return input
