"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, dtype
from .._domains import domain
from .._out import filled
from ..ops._options import axis_of
from ._checks import check_floating, check_matrices, check_square
from ._spectral import _singular_values
from ._systems import _inv_ex

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]

_ops: Any = _core.ops
Order = int | float | str
Axes = int | Sequence[int]


@domain("x=nonzero(a, b); x=nonzero(a, b), ord=3, dim=1, keepdim=True")
def vector_norm(
    x: Tensor,
    ord: int | float = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The p-norm `sum(abs(x) ** ord) ** (1 / ord)` of the elements along axes.

    Args:
        x: any shape, floating. All axes in `dim` are one vector; None means all there are.
        ord: inf and -inf give the largest and the smallest absolute value, 0 the number of elements that are not zero.
        keepdim: leave the axes, with size 1.
        dtype: cast to it first.

    Raises:
        RuntimeError: integers, or no elements where the norm needs some.

    Example:
        >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    check_floating("linalg.vector_norm", x, complex=True)
    result: Tensor = _ops.linalg_vector_norm(x, ord, dim, keepdim, dtype=dtype)
    return filled("linalg.vector_norm", result, out)


@domain("A=real(a, b, c); A=real(a, c, c), ord='nuc', keepdim=True; A=real(a, b, c), ord=1, dim=(0, 2); "
        "A=real(a, b), ord=-2")  # fmt: skip
def matrix_norm(
    A: Tensor,
    ord: int | float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of each matrix.

    Args:
        A: at least two axes, floating.
        ord: "fro" for the root of the sum of squares, "nuc" for the sum of the singular values, 2 and -2 for the
            largest and the smallest one, 1 and -1 for the largest and smallest sum of a column's absolute values, inf
            and -inf for those of rows.
        dim: the axes of rows and of columns.
        keepdim: leave the axes, with size 1.
        dtype: cast to it first.

    Raises:
        RuntimeError: fewer than two axes, integers, or another order.

    Example:
        >>> A = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
        >>> torch.linalg.matrix_norm(A, 1), torch.linalg.matrix_norm(A, torch.inf)
        (tensor(6.), tensor(7.))
    """
    name = "linalg.matrix_norm"
    check_matrices(name, A)
    axes = _two_axes(name, A, dim)
    if dtype is not None:
        A = A.to(dtype)
    result: Tensor
    if ord == "fro":
        result = _ops.linalg_vector_norm(A, 2, axes, keepdim)
        return filled(name, result, out)
    if ord in ("nuc", 2, -2):
        values = _singular_values(A.movedim(axes, (-2, -1)))
        pick: dict[int | float | str, Any] = {"nuc": values.sum, 2: values.amax, -2: values.amin}
        result = pick[ord](-1, keepdim)
        return filled(name, result.unsqueeze(-1).movedim((-2, -1), axes) if keepdim else result, out)
    if isinstance(ord, int | float) and (math.isinf(ord) or abs(ord) == 1):
        summed = axes[0] if abs(ord) == 1 else axes[1]
        rest = axes[1] if abs(ord) == 1 else axes[0]
        sums = A.abs().sum(summed, keepdim=True)
        found = sums.amax(rest, keepdim=True) if ord > 0 else sums.amin(rest, keepdim=True)
        result = found.squeeze(axes)
    else:
        raise RuntimeError(f"{name}: Order {ord} not supported; expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    if keepdim:
        for axis in sorted(axes):
            result = result.unsqueeze(axis)
    return filled(name, result, out)


def _two_axes(name: str, A: Tensor, dim: Any) -> tuple[int, int]:
    axes = tuple(dim) if isinstance(dim, tuple | list) else (dim,)
    if len(axes) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {list(axes)}")
    rows, columns = (axis_of(name, A, axis, of_number=False) for axis in axes)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({axes[0]}, {axes[1]})")
    return rows, columns


@domain("A=real(a, b); A=real(a, b), ord='nuc'; A=nonzero(c), ord=3; A=real(a, b, c), ord=1, dim=(0, 1)")
def norm(
    A: Tensor,
    ord: int | float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
) -> Tensor:
    """A norm of vectors or of matrices.

    Args:
        A: any shape, floating.
        ord: as in `matrix_norm` for two axes, as in `vector_norm` for one. None is the 2-norm of all elements of `dim`.
        dim: one axis for vectors, two for matrices; None for all of A, which then has one or two axes if there is an
            ord.
        keepdim: leave the axes, with size 1.
        dtype: cast to it first.

    Raises:
        RuntimeError: integers, another order, or a number of axes that the order does not go with.

    Example:
        >>> torch.linalg.norm(torch.tensor([[3.0, 0.0], [0.0, -4.0]])), torch.linalg.norm(torch.tensor([3.0, -4.0]), 1)
        (tensor(5.), tensor(7.))
    """
    check_floating("linalg.norm", A, complex=True)
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype, out=out)
    axes: Any = dim
    if dim is None:
        if A.dim() not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got " + f"{A.dim()}D."
            )
        axes = tuple(range(A.dim()))
    elif isinstance(dim, int):
        axes = (dim,)
    if len(axes) == 2:
        return matrix_norm(A, ord, axes, keepdim, dtype=dtype, out=out)
    if len(axes) != 1:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(axes)}")
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: expected two axes for the order '{ord}', got {list(axes)}; name both in dim")
    return vector_norm(A, ord, axes, keepdim, dtype=dtype, out=out)


@domain("A=real(a, c, b); A=dominant(a, b, b), p='fro'; A=dominant(b, b), p=1; A=dominant(b, b), p=-2")
def cond(A: Tensor, p: int | float | str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number: the norm of each matrix times that of its inverse.

    Args:
        A: shape (*, m, n), floating; square unless p is None, 2 or -2.
        p: a norm as in `matrix_norm`; None means 2. Infinite for a singular matrix.

    Raises:
        RuntimeError: integers, or a matrix that is not square where `p` needs one.

    Example:
        >>> torch.linalg.cond(torch.tensor([[1.0, 0.0], [0.0, 4.0]]))
        tensor(4.)
    """
    check_matrices("linalg.cond", A)
    if p in (None, 2, -2):
        values = _singular_values(A)
        ratio = values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
        return filled("linalg.cond", ratio, out)
    check_square(f"linalg.cond(ord={p})", A)
    kind: Any = p
    inverse, info = _inv_ex(A)
    product = matrix_norm(A, kind) * matrix_norm(inverse.nan_to_num(0.0), kind)
    result: Tensor = product.masked_fill(info != 0, math.inf)
    return filled("linalg.cond", result, out)
