"""Sums by the trapezoidal rule, counts, distances, Kronecker products, and what complex numbers would need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import IN_PLACE, OUT, from_forward, operation
from .._out import filled
from ._options import need_values

__all__ = [
    "adjoint",
    "bincount",
    "cdist",
    "conj",
    "conj_physical",
    "cumulative_trapezoid",
    "imag",
    "kron",
    "pdist",
    "polar",
    "positive",
    "real",
    "resolve_conj",
    "resolve_neg",
    "trapezoid",
    "trapz",
]
METHODS = ["adjoint", "bincount", "conj", "conj_physical", "kron", "positive"]

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
    if input.dim() != 1 or (input.numel() and bool((input < 0).any())):
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
    count = max(int(input.max()) + 1, minlength)
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
    first, second = (_core.from_numpy(one) for one in numpy.triu_indices(input.shape[0], 1))
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


# --------------------------------------------------------------------------------------------------------- real numbers
@domain("real")  # of complex ones PyTorch gives a lazy view
def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element: a copy of complex tensors (never lazy), real ones themselves.

    Example:
        >>> torch.conj(torch.tensor([1 + 2j, 3 - 1j])).resolve_conj()
        tensor([1.-2.j, 3.+1.j])
    """
    result: Tensor = _ops._conj(input) if input.is_complex() else input
    return result


@domain("real; complex")
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `conj`.

    Example:
        >>> torch.conj_physical(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([1.-2.j, 3.+1.j])
    """
    if out is None and not input.is_complex():
        return input
    result: Tensor = _core.ops.conj_physical(input, **({} if out is None else {"out": out}))
    return result


@operation(
    "conj_physical(Tensor self)",
    rules=(lambda g: conj(g),),
    node="ConjPhysicalBackward0",
    in_place_node="ConjPhysicalBackward1",
    flags=IN_PLACE | OUT,
    arrays=False,
    derivative="elementwise",
    infer=from_forward,
    domain="real",
)
def _conj_physical(self: Tensor) -> Tensor:
    """The complex conjugate of each element.

    Example:
        >>> torch.conj_physical(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([1.-2.j, 3.+1.j])
    """
    return _ops._conj(self) if self.is_complex() else self.clone()


@domain("real")
def resolve_conj(input: Tensor) -> Tensor:
    """Itself: conjugates are never lazy.

    Example:
        >>> torch.resolve_conj(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    return input


@domain("real")
def resolve_neg(input: Tensor) -> Tensor:
    """Itself: negation is never lazy.

    Example:
        >>> torch.resolve_neg(torch.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    return input


@domain("real; complex")
def real(input: Tensor) -> Tensor:
    """The real parts: a view of a complex tensor, with the real dtype; a real tensor itself.

    Example:
        >>> torch.real(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([1., 3.])
    """
    result: Tensor = _ops._real(input) if input.is_complex() else input
    return result


@domain("complex")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor: a view with the real dtype.

    Raises:
        RuntimeError: the tensor is real.

    Example:
        >>> torch.imag(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([ 2., -1.])
    """
    if not input.is_complex():
        raise RuntimeError("imag: is not implemented for tensors with non-complex dtypes; it would be zero")
    result: Tensor = _ops._imag(input)
    return result


def _write_part(part: Callable[[Tensor], Tensor]) -> property:
    def write(self: Tensor, value: Any) -> None:
        part(self).copy_(value)

    return property(part, write, doc=part.__doc__)


_core.add_method("real", _write_part(real))
_core.add_method("imag", _write_part(imag))


@domain("abs=positive(a, b), angle=unit(a, b)")
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers with these absolute values and angles: abs * cos(angle) + i abs * sin(angle).

    Raises:
        RuntimeError: the two are not of one floating dtype.

    Example:
        >>> torch.polar(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.5]))
        tensor([1.0000+0.0000j, 1.7552+0.9589j])
    """
    if not (abs.dtype.is_floating_point and angle.dtype.is_floating_point):
        raise RuntimeError(f"polar: Expected both inputs to be floating, but got {abs.dtype} and {angle.dtype}")
    if abs.dtype != angle.dtype:
        raise RuntimeError(f"polar: Expected angle of dtype {abs.dtype}, but got {angle.dtype}; cast one of them")
    if abs.dtype.itemsize == 2:  # whose sines would be rounded
        abs, angle = abs.float(), angle.float()
    parts, where = (abs * angle.cos(), abs * angle.sin()), {} if out is None else {"out": out}
    result: Tensor = _ops.complex(*parts, **where)
    return result


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


@domain("input=real(a, b, c)")
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of each matrix, `x.mH`; of real ones a view.

    Raises:
        RuntimeError: a vector.

    Example:
        >>> torch.adjoint(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[1., 3.],
                [2., 4.]])
    """
    if input.dim() == 1:
        raise RuntimeError(
            f"adjoint: is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor."
        )
    result: Tensor = input.mH
    return result
