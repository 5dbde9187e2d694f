"""Systems of equations and inverses."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import NAMESPACE, OUT, operation
from .._out import filled
from ._checks import check_floating, check_info, check_matrices, check_square, identity_like, info_like, solution_like

__all__ = ["inv", "inv_ex", "solve", "solve_ex"]

_SINGULAR = (
    "The diagonal element {index} is zero, the inversion could not be completed because the input matrix is singular."
)
_UNSOLVABLE = "The solver failed because the input matrix is singular."


# -------------------------------------------------------------------------------------------------------------- systems
def _gradient_of_matrix(grad_B: Tensor, result: Tensor, left: bool) -> Tensor:
    return -(grad_B @ result.mT) if left else -(result.mT @ grad_B)


def _gradient_of_right_side(g: Tensor, A: Tensor, left: bool) -> Tensor:
    result: Tensor = _solve_ex(A.mT, g, left=left)[0]
    return result


@operation(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True)",
    outputs="result info",
    rules=(_gradient_of_matrix, _gradient_of_right_side),
    node="LinalgSolveExBackward0",
    arrays=False,
    derivative="B",
    infer=lambda A, B, left: (solution_like(A, B, left), info_like(A)),
    domain="A=dominant(b, b), B=real(b, a); A=dominant(a, 1, b, b), B=real(c, b), left=False",
)
def _solve_ex(A: Any, B: Any, left: bool) -> Any:
    """X with A X = B, or X A = B; and 0, or which pivot is zero."""
    if left:
        return _solution(A, B)
    result, info = _solution(A.mT, B.mT)
    return result.mT.contiguous(), info


def _solution(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """X with A X = B, NaN for matrices that are singular; and which pivot is zero, from 1, or 0."""
    LU, pivots, info = _core.lu_factor(A)
    result = _core.lu_solve(LU, pivots, B, False)
    singular = info != 0
    if singular.any():
        result = result.masked_fill(singular[..., None, None], math.nan)
    return result, info


class solve_ex_result(NamedTuple):
    result: Tensor
    info: Tensor


def _solved(name: str, A: Tensor, B: Tensor, left: bool) -> solve_ex_result:
    check_square(name, A)
    check_floating(name, A, B)
    vector = B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])
    if vector:
        if not left:
            raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False")
        B = B.unsqueeze(-1)
    check_matrices(name, B, "B")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        sign = "A X = B" if left else "X A = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {sign} "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    result, info = _solve_ex(A, B, left=left)
    return solve_ex_result(result.squeeze(-1) if vector else result, info)


@domain("A=dominant(a, b, b), B=real(a, b); A=dominant(b, b), B=real(a, c, b), left=False")
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """Solve the linear equations `A X = B` for X. A and X are saved for backward.

    Args:
        A: shape (*, n, n), floating.
        B: shape (*, n, k), or (*, n) with the batch of A, or (n); (*, k, n) with `left=False`. The batches broadcast.
        left: False solves `X A = B`.

    Returns:
        X, of the shape of B with the batch of both.

    Raises:
        LinAlgError: a matrix is singular.
        RuntimeError: A is not square, the shapes do not fit, the dtypes are not one floating dtype.

    Example:
        >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
    """
    result, info = _solved("linalg.solve", A, B, left)
    check_info("linalg.solve", info, _UNSOLVABLE)
    return filled("linalg.solve", result, out)


@domain("A=dominant(a, b, b), B=real(b, c)")
def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: tuple[Tensor, Tensor] | None = None,
) -> solve_ex_result:
    """`solve` that returns a code instead of raising.

    Args:
        check_errors: raise as `solve` does.

    Returns:
        `result`, NaN where a matrix is singular, and `info` (int32, one for each matrix of A): 0, or the pivot that is
        zero, from 1.

    Raises:
        RuntimeError: as `solve`.
        LinAlgError: with `check_errors`.

    Example:
        >>> torch.linalg.solve_ex(torch.zeros(2, 2), torch.ones(2)).info
        tensor(1, dtype=torch.int32)
    """
    result = _solved("linalg.solve_ex", A, B, left)
    if check_errors:
        check_info("linalg.solve_ex", result.info, _UNSOLVABLE)
    return filled("linalg.solve_ex", result, out)


# ------------------------------------------------------------------------------------------------------------- inverses
@operation(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False)",
    outputs="inverse info",
    rules=(lambda g_inverse, inverse: -(inverse.mT @ g_inverse @ inverse.mT),),
    flags=NAMESPACE | OUT,
    arrays=False,
    infer=lambda A, check_errors: (A.new_empty(A.shape), info_like(A)),
    domain="A=dominant(b, b); A=dominant(a, 1, c, c)",
)
def _inv_ex(A: Any, check_errors: bool) -> Any:
    """The inverse, and 0, or which pivot is zero.

    Example:
        >>> inverse, info = torch.linalg.inv_ex(torch.tensor([[2.0]]))
        >>> inverse
        tensor([[0.5000]])
    """
    inverse, info = _solution(A, identity_like(A, A.shape[-1], A.shape[-1]))
    if check_errors:
        check_info("linalg.inv_ex", info, _SINGULAR)
    return inverse, info


class inv_ex_result(NamedTuple):
    inverse: Tensor
    info: Tensor


@domain("A=dominant(a, b, b)")
def inv_ex(A: Tensor, *, check_errors: bool = False, out: tuple[Tensor, Tensor] | None = None) -> inv_ex_result:
    """`inv` that returns a code instead of raising.

    Args:
        check_errors: raise as `inv` does.

    Returns:
        `inverse`, NaN where a matrix is singular, and `info` (int32, one for each matrix): 0, or the pivot that is
        zero, from 1.

    Raises:
        RuntimeError: the matrices are not square, or integers.
        LinAlgError: with `check_errors`.

    Example:
        >>> torch.linalg.inv_ex(torch.tensor([[1.0, 2.0], [2.0, 4.0]])).info
        tensor(2, dtype=torch.int32)
    """
    check_square("linalg.inv_ex", A)
    return filled("linalg.inv_ex", inv_ex_result(*_inv_ex(A, check_errors=check_errors)), out)


@domain("A=dominant(b, b); A=dominant(a, b, b)")
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each matrix. To multiply by it, `solve` is faster and more accurate.

    Args:
        A: shape (*, n, n), floating.

    Raises:
        LinAlgError: a matrix is singular.
        RuntimeError: the matrices are not square, or the dtype is not floating.

    Example:
        >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    check_square("linalg.inv", A)
    inverse: Tensor
    inverse, info = _inv_ex(A)
    check_info("linalg.inv", info, _SINGULAR)
    return filled("linalg.inv", inverse, out)
