"""Cholesky factors and triangular systems."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import NAMESPACE, OUT, operation
from .._out import filled
from . import _arrays
from ._checks import check_floating, check_info, check_matrices, check_square, info_like, solution_like

__all__ = ["cholesky", "cholesky_ex", "solve_triangular"]

_NOT_DEFINITE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{index} is not positive-definite)."
)


# ------------------------------------------------------------------------------------------------------------ triangles
def _gradient_of_triangle(grad_B: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    whole = -(grad_B @ result.mT) if left else -(result.mT @ grad_B)
    return whole.triu(int(unitriangular)) if upper else whole.tril(-int(unitriangular))


def _gradient_of_right_side(g: Tensor, self: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    result: Tensor = _solve_triangular(self.mT, g, upper=not upper, left=left, unitriangular=unitriangular)
    return result


@operation(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)",
    rules=(_gradient_of_triangle, _gradient_of_right_side),
    flags=NAMESPACE | OUT,
    arrays=False,
    derivative="B",
    infer=lambda A, B, upper, left, unitriangular: solution_like(A, B, left),
    domain="self=dominant(b, b), B=real(b, a), upper=True; self=dominant(a, 1, b, b), B=real(c, b), upper=False, "
    "left=False; self=dominant(b, b), B=real(a, b, a), upper=False, unitriangular=True",
)
def _solve_triangular(A: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    """X with A X = B, or X A = B, for triangular A.

    Example:
        >>> A, B = torch.tensor([[2.0, 1.0], [0.0, 4.0]]), torch.tensor([[4.0], [8.0]])
        >>> torch.linalg.solve_triangular(A, B, upper=True)
        tensor([[1.],
                [2.]])
    """
    return _core.solve_triangular(A, B, upper, left, unitriangular)


@domain("A=dominant(a, b, b), B=real(b, c), upper=True")
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | None = None
) -> Tensor:
    """Solve `A X = B` for triangular matrices, of which nothing but the triangle is read.

    Args:
        A: shape (*, n, n).
        B: shape (*, n, k), or (*, k, n) with `left=False`; the batches broadcast.
        upper: which triangle.
        left: False solves `X A = B`.
        unitriangular: take the diagonal as ones.

    Returns:
        X, of the shape of B with the batch of both. A zero on the diagonal gives infinite values or NaN.

    Raises:
        RuntimeError: A is not square, the shapes do not fit, the dtypes are not one floating dtype.

    Example:
        >>> A, B = torch.tensor([[2.0, 1.0], [0.0, 4.0]]), torch.tensor([[4.0], [8.0]])
        >>> torch.linalg.solve_triangular(A, B, upper=True)
        tensor([[1.],
                [2.]])
    """
    name = "linalg.solve_triangular"
    check_square(name, A)
    check_matrices(name, B, "B")
    check_floating(name, A, B)
    if A.shape[-1] != B.shape[-2 if left else -1]:
        sign = "A X = B" if left else "X A = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {sign} ({_shapes(A, B)})")
    result: Tensor = _solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)
    return filled(name, result, out)


def _shapes(A: Tensor, B: Tensor) -> str:
    return f"{A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]}"


# ------------------------------------------------------------------------------------------------------------- Cholesky
def _gradient_of_cholesky(g_L: Tensor, L: Tensor, upper: bool) -> Tensor:
    """For L Lᵀ = A: L⁻ᵀ sym(tril(Lᵀ g)) L⁻¹ (Murray, Differentiation of the Cholesky decomposition, 2016)."""
    factor, g = (L.mT, g_L.mT) if upper else (L, g_L)
    inner = factor.mT @ g
    inner = 0.5 * (inner.tril() + inner.tril(-1).mT)
    half = _solve_triangular(factor.mT, inner, upper=True)
    result: Tensor = _solve_triangular(factor, half, upper=False, left=False)
    return result


@operation(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False)",
    outputs="L info",
    rules=(_gradient_of_cholesky,),
    flags=NAMESPACE | OUT,
    infer=lambda A, upper, check_errors: (A.new_empty(A.shape), info_like(A)),
    domain="self=definite(b, b); self=definite(a, c, c), upper=True",
)
def _cholesky_ex(A: Any, upper: bool, check_errors: bool) -> Any:
    """The triangular L with positive diagonal and L Lᵀ = self, and 0, or where a minor is not positive-definite.

    Example:
        >>> L, info = torch.linalg.cholesky_ex(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
        >>> L
        tensor([[2., 0.],
                [1., 2.]])
    """
    factor, info = _arrays.cholesky(A.swapaxes(-1, -2) if upper else A)
    if check_errors:
        check_info("linalg.cholesky_ex", _core.from_numpy(info), _NOT_DEFINITE)
    return factor.swapaxes(-1, -2) if upper else factor, info


class cholesky_ex_result(NamedTuple):
    L: Tensor
    info: Tensor


@domain("A=definite(a, b, b)")
def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False, out: tuple[Tensor, Tensor] | None = None
) -> cholesky_ex_result:
    """The Cholesky factor of each matrix, and whether there is one.

    Args:
        A: symmetric, shape (*, n, n). Only one triangle is read.
        upper: read the upper triangle and return the upper factor.
        check_errors: raise as `cholesky` does.

    Returns:
        `L`, and `info` (int32, one for each matrix): 0, or the order of the leading minor that is not
        positive-definite. Then only the columns of `L` before it are those of a factor.

    Raises:
        RuntimeError: the matrices are not square, or integers.
        LinAlgError: with `check_errors`.

    Example:
        >>> L, info = torch.linalg.cholesky_ex(torch.tensor([[4.0, 2.0], [2.0, -3.0]]))
        >>> info
        tensor(2, dtype=torch.int32)
    """
    check_square("linalg.cholesky_ex", A)
    result = cholesky_ex_result(*_cholesky_ex(A, upper=upper, check_errors=check_errors))
    return filled("linalg.cholesky_ex", result, out)


@domain("A=definite(b, b); A=definite(a, b, b), upper=True")
def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The triangular `L` with positive diagonal and `L @ L.mT == A`.

    Args:
        A: symmetric and positive-definite, shape (*, n, n), floating. Only one triangle is read.
        upper: read the upper triangle and return `L.mT`.

    Raises:
        LinAlgError: a matrix is not positive-definite.
        RuntimeError: the matrices are not square, or the dtype is not floating.

    Example:
        >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    check_square("linalg.cholesky", A)
    L: Tensor
    L, info = _cholesky_ex(A, upper=upper)
    check_info("linalg.cholesky", info, _NOT_DEFINITE)
    return filled("linalg.cholesky", L, out)
