"""LU factorizations."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import HIDDEN, NAMESPACE, OUT, operation
from .._out import filled
from ._checks import check_floating, check_info, check_matrices, check_square, identity_like, info_like, solution_like
from ._triangular import _solve_triangular

__all__ = ["lu", "lu_factor", "lu_factor_ex", "lu_solve"]


def _gradient_of_lu(g_LU: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """From d(LU) = dL U + L dU, for the square part; what lies beside it is solved for by the other factor."""
    rows, columns = LU.shape[-2:]
    k = min(rows, columns)
    square, g = LU[..., :k, :k], g_LU[..., :k, :k]
    g_L, g_U = g.tril(-1), g.triu()
    L, U = square.tril(-1) + identity_like(LU, k, k), square.triu()
    beside: list[Tensor] = []
    if columns > k:
        right = _solve_triangular(L.mT, g_LU[..., k:], upper=True, unitriangular=True)
        g_L = g_L - right @ LU[..., k:].mT
        beside = [right]
    elif rows > k:
        below = _solve_triangular(U.mT, g_LU[..., k:, :], upper=False, left=False)
        g_U = g_U - LU[..., k:, :].mT @ below
        beside = [below]
    inner = (L.mT @ g_L).tril(-1) + (g_U @ U.mT).triu()
    half = _solve_triangular(L.mT, inner, upper=True, unitriangular=True)
    whole: Tensor = _solve_triangular(U.mT, half, upper=False, left=False)
    if beside:
        whole = _core.ops.cat([whole, *beside], -1 if columns > k else -2)
    result: Tensor = permutation(pivots, rows).to(LU.dtype) @ whole
    return result


@operation(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)",
    outputs="LU pivots info",
    rules=(_gradient_of_lu,),
    flags=NAMESPACE | OUT,
    arrays=False,
    infer=lambda A, pivot, check_errors: (
        A.new_empty(A.shape),
        A.new_empty((*A.shape[:-2], min(A.shape[-2:])), dtype=_core.dtypes["int32"]),
        info_like(A),
    ),
    domain="A=real(b, b); A=real(a, c, b); A=real(b, d)",
)
def _lu_factor_ex(A: Any, pivot: bool, check_errors: bool) -> Any:
    """L below the diagonal and U in one, the rows that were exchanged from 1, and 0 or which pivot is zero.

    Example:
        >>> LU, pivots, info = torch.linalg.lu_factor_ex(torch.tensor([[0.0, 1.0], [2.0, 3.0]]))
        >>> LU
        tensor([[2., 3.],
                [0., 1.]])
    """
    if not pivot:
        raise NotImplementedError("linalg.lu_factor: LU without pivoting is not supported; leave pivot=True")
    packed, pivots, info = _core.lu_factor(A)
    if check_errors:
        check_info("linalg.lu_factor_ex", info, _ZERO_PIVOT)
    return packed, pivots, info


_ZERO_PIVOT = (
    "U[{index},{index}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


@operation(
    "linalg_lu_permutation(Tensor pivots, int rows)",
    outputs="P",
    rules=(None,),
    flags=HIDDEN,
    arrays=False,
    infer=lambda pivots, rows: pivots.new_empty((*pivots.shape[:-1], rows, rows), dtype=_core.dtypes["bool"]),
    domain="pivots=constant(index(1, b).astype('int32') + b), rows=4",
)
def permutation(pivots: Any, rows: int) -> Any:
    """The matrix P with A = P L U, as booleans, of shape (*, rows, rows)."""
    return _core.lu_permutation(pivots, rows)


def _gradient_of_factors(grad_B: Tensor, LU: Tensor, pivots: Tensor, result: Tensor, adjoint: bool) -> Tensor:
    """From A = P L U and the gradient of A: that of L is Pᵀ g Uᵀ, that of U is Lᵀ Pᵀ g."""
    size = LU.shape[-1]
    g = -(result @ grad_B.mT) if adjoint else -(grad_B @ result.mT)
    g = permutation(pivots, size).to(LU.dtype).mT @ g
    lower, upper = LU.tril(-1) + identity_like(LU, size, size), LU.triu()
    whole: Tensor = (g @ upper.mT).tril(-1) + (lower.mT @ g).triu()
    return whole


def _gradient_of_right_side(g: Tensor, LU: Tensor, pivots: Tensor, adjoint: bool) -> Tensor:
    result: Tensor = _lu_solve(LU, pivots, g, adjoint=not adjoint)
    return result


@operation(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool adjoint=False)",
    rules=(_gradient_of_factors, None, _gradient_of_right_side),
    flags=HIDDEN,
    arrays=False,
    derivative="B",
    infer=lambda LU, pivots, B, adjoint: solution_like(LU, B, True),
    domain="LU=dominant(b, b), pivots=constant(index(1, b).astype('int32') + b), B=real(b, a); "
    "LU=dominant(b, b), pivots=constant(index(1, b).astype('int32') + b), B=real(c, b, a), adjoint=True",
)
def _lu_solve(LU: Any, pivots: Any, B: Any, adjoint: bool) -> Any:
    """X with A X = B, or Aᵀ X = B, from the factors of A."""
    return _core.lu_solve(LU, pivots, B, adjoint)


class lu_factor_ex_result(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor


class lu_factor_result(NamedTuple):
    LU: Tensor
    pivots: Tensor


class lu_result(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


@domain("A=real(a, b, b)")
def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: tuple[Tensor, Tensor, Tensor] | None = None
) -> lu_factor_ex_result:
    """`lu_factor` that returns a code instead of raising: `info` (int32, one for each matrix).

    It is 0, or the number of the pivot that is zero, from 1.

    Args:
        check_errors: raise as `lu_factor` does.

    Raises:
        RuntimeError: fewer than two dimensions, or integers.
        LinAlgError: with `check_errors`.

    Example:
        >>> torch.linalg.lu_factor_ex(torch.zeros(2, 2)).info
        tensor(1, dtype=torch.int32)
    """
    check_matrices("linalg.lu_factor_ex", A)
    result = lu_factor_ex_result(*_lu_factor_ex(A, pivot=pivot, check_errors=check_errors))
    return filled("linalg.lu_factor_ex", result, out)


@domain("A=real(a, b, b); A=real(c, b)")
def lu_factor(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, Tensor] | None = None) -> lu_factor_result:
    """The LU decomposition with partial pivoting in packed form, as `lu_solve` takes it.

    Args:
        A: shape (*, m, n), floating.

    Returns:
        `LU`, which has L (whose diagonal is ones) below the diagonal and U from it on, and `pivots` (int32): in step i
        row i was exchanged with row pivots[i] - 1.

    Raises:
        LinAlgError: a pivot is zero.

    Example:
        >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[0.0, 1.0], [2.0, 3.0]]))
        >>> LU
        tensor([[2., 3.],
                [0., 1.]])
        >>> pivots
        tensor([2, 2], dtype=torch.int32)
    """
    check_matrices("linalg.lu_factor", A)
    LU, pivots, info = _lu_factor_ex(A, pivot=pivot)
    check_info("linalg.lu_factor", info, _ZERO_PIVOT)
    return filled("linalg.lu_factor", lu_factor_result(LU, pivots), out)


def unpacked(LU: Tensor, pivots: Tensor, data: bool = True, order: bool = True) -> lu_result:
    """P, L and U of what `lu_factor` gives. What is not asked for is empty."""
    rows, columns = LU.shape[-2:]
    k = min(rows, columns)
    P, L, U = (LU.new_empty(0) for _ in range(3))
    if order:
        if not pivots.dim() or tuple(pivots.shape[:-1]) not in ((), tuple(LU.shape[:-2])):
            raise RuntimeError(f"lu: expected pivots of shape (*, {k}) for {list(LU.shape)}, got {list(pivots.shape)}")
        pivots = pivots.expand(*LU.shape[:-2], pivots.shape[-1])
    if data:
        L, U = LU[..., :k].tril(-1) + identity_like(LU, rows, k), LU[..., :k, :].triu()
    return lu_result(permutation(pivots, rows).to(LU.dtype) if order else P, L, U)


@domain("A=real(a, b, b); A=real(c, b); A=real(b, d)")
def lu(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, Tensor, Tensor] | None = None) -> lu_result:
    """The LU decomposition with partial pivoting: `A = P @ L @ U`.

    Args:
        A: shape (*, m, n), floating; k is the smaller of m and n.

    Returns:
        The permutation `P` of shape (*, m, m), `L` of shape (*, m, k) with ones on the diagonal, `U` of (*, k, n).

    Raises:
        RuntimeError: fewer than two dimensions, or integers.

    Example:
        >>> torch.linalg.lu(torch.tensor([[0.0, 1.0], [2.0, 3.0]])).U
        tensor([[2., 3.],
                [0., 1.]])
    """
    check_matrices("linalg.lu", A)
    LU, pivots, _ = _lu_factor_ex(A, pivot=pivot)
    return filled("linalg.lu", unpacked(LU, pivots), out)


@domain("LU=dominant(b, b), pivots=constant(index(1, b).astype('int32') + b), B=real(b, a)")
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None
) -> Tensor:
    """Solve `A X = B` with the LU decomposition of A that `lu_factor` returned.

    Args:
        LU, pivots: shapes (*, n, n) and (*, n).
        B: shape (*, n, k), or (*, k, n) with `left=False`.
        left: False solves `X A = B`.
        adjoint: solve with the transpose of A.

    Raises:
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
        >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[1.0], [4.0]]))
        tensor([[2.],
                [1.]])
    """
    name = "linalg.lu_solve"
    check_square(name, LU, "LU")
    check_matrices(name, B, "B")
    check_floating(name, LU, B)
    if pivots.dtype != _core.dtypes["int32"]:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32, got {pivots.dtype}")
    if LU.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B, got {list(LU.shape)} and {list(B.shape)}")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix, got "
            f"{list(pivots.shape)} for {list(LU.shape)}"
        )
    if not left:  # X A = B is Aᵀ Xᵀ = Bᵀ
        return filled(name, lu_solve(LU, pivots, B.mT, adjoint=not adjoint).mT, out)
    result: Tensor = _lu_solve(LU, pivots, B, adjoint=adjoint)
    return filled(name, result, out)
