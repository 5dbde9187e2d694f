"""Older names of clew.linalg's factorizations, and what is solved by them. clew.linalg is loaded when one is called."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._out import filled
from ._options import linalg
from .creation import eye

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "lu_solve",
    "lu_unpack",
    "orgqr",
    "qr",
    "svd",
    "triangular_solve",
]
METHODS = ["cholesky", "cholesky_inverse", "cholesky_solve", "lu_solve", "orgqr", "qr", "svd", "triangular_solve"]

_ops: Any = _core.ops


class svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor


class triangular_solve_result(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor


@domain("input=definite(a, b, b); input=definite(b, b), upper=True")
def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor: `clew.linalg.cholesky`. PyTorch warns that it is deprecated.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    if not input.numel():
        result: Tensor = filled("cholesky", input.clone(), out)
    else:
        result = linalg().cholesky(input, upper=upper, out=out)
    return result


@domain("input=real(b, a), input2=dominant(b, b); input=real(a, b, a), input2=dominant(a, b, b), upper=True")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Solve `A X = input` with the Cholesky factor of A.

    Args:
        input: shape (*, n, k).
        input2: L with `L @ L.mT == A`, of shape (*, n, n), or with `upper=True` its transpose.

    Returns:
        X, of shape (*, n, k); the batches are broadcast.

    Example:
        >>> torch.cholesky_solve(torch.ones(1, 1), torch.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    package = linalg()
    lower = input2.mT if upper else input2
    half = package.solve_triangular(lower, input, upper=False)
    result: Tensor = package.solve_triangular(lower.mT, half, upper=True, out=out)
    return result


@domain("input=dominant(b, b); input=dominant(a, b, b), upper=True")
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given: L with `L @ L.mT`, or with `upper=True` its transpose.

    Example:
        >>> torch.cholesky_inverse(torch.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    checks = linalg("._checks")
    checks.check_square("cholesky_inverse", input)
    if not input.is_meta:
        zero = input.detach().diagonal(0, -2, -1) == 0
        codes = (zero.int().argmax(-1) + 1) * zero.any(-1) if zero.shape[-1] else zero.new_zeros(zero.shape[:-1])
        checks.check_info("cholesky_inverse", codes, linalg("._systems")._SINGULAR)
    lower = input.mT if upper else input
    root = linalg().solve_triangular(lower, eye(input.shape[-1], dtype=input.dtype, device=input.device), upper=False)
    result: Tensor = filled("cholesky_inverse", root.mT @ root, out)
    return result


@domain("b=real(b, a), A=dominant(b, b); b=real(b, a), A=dominant(b, b), upper=False, transpose=True")
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> triangular_solve_result:
    """Solve `A X = b` for triangular A, or `A.mT X = b`: `clew.linalg.solve_triangular` with the solution, and A.

    Example:
        >>> X, A = torch.triangular_solve(torch.tensor([[6.0]]), torch.tensor([[2.0]]))
        >>> X
        tensor([[3.]])
    """
    package = linalg()
    matrix = A.mT if transpose else A
    solution = package.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return triangular_solve_result(solution, A.expand(*solution.shape[:-2], *A.shape[-2:]).clone())


@domain("b=real(b, a), LU_data=dominant(b, b), LU_pivots=index(1, b).astype('int32') + b")
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Solve `A X = b` with the LU decomposition of A: `clew.linalg.lu_solve`. PyTorch warns that it is deprecated.

    Example:
        >>> import warnings
        >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.lu_solve(torch.tensor([[1.0], [4.0]]), LU, pivots)
        tensor([[2.],
                [1.]])
    """
    result: Tensor = linalg().lu_solve(LU_data, LU_pivots, b, out=out)
    return result


@domain("LU_data=real(c, b), LU_pivots=index(1, b).astype('int32') + b")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The matrices P, L and U of the packed form that `clew.linalg.lu_factor` gives, with `P @ L @ U` the original.

    Args:
        unpack_data: False leaves L and U empty.
        unpack_pivots: False leaves P empty.

    Raises:
        RuntimeError: the pivots are not int32.

    Example:
        >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[0.0, 1.0], [2.0, 3.0]])))
        >>> P
        tensor([[0., 1.],
                [1., 0.]])
    """
    linalg("._checks").check_matrices("lu_unpack", LU_data, "LU", floating=False)
    if unpack_pivots and LU_pivots.dtype != _core.dtypes["int32"]:
        raise RuntimeError(
            f"lu_unpack: LU_pivots is expected to be of torch.int32 dtype, got {LU_pivots.dtype}; cast it"
        )
    return linalg("._lu").unpacked(LU_data, LU_pivots, unpack_data, unpack_pivots)


@domain("input=real(a, c, b)")
def qr(input: Tensor, some: bool = True, *, out: tuple[Tensor, Tensor] | None = None) -> Any:
    """The QR decomposition: `clew.linalg.qr`, complete with `some=False`.

    Example:
        >>> Q, R = torch.qr(torch.eye(3)[:, :2], some=False)
        >>> Q.shape, R.shape
        (torch.Size([3, 3]), torch.Size([3, 2]))
    """
    return linalg().qr(input, "reduced" if some else "complete", out=out)


@domain("unsampled, 'signs of vectors are arbitrary: _linalg_svd is sampled'")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> svd_result:
    """The singular value decomposition `input = U @ diag(S) @ V.mT`: `clew.linalg.svd` with V instead of its transpose.

    Args:
        some: leave out the vectors beyond the smaller size.
        compute_uv: False gives zeros for U and V.

    Example:
        >>> torch.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
    """
    package = linalg()
    linalg("._checks").check_matrices("linalg.svd", input)
    if not compute_uv:
        rows, columns = input.shape[-2:]
        batch = input.shape[:-2]
        return svd_result(
            input.new_zeros(*batch, rows, rows), package.svdvals(input), input.new_zeros(*batch, columns, columns)
        )
    U, S, Vh = package.svd(input, not some)
    return svd_result(U, S, Vh.mT)


@domain("input=unit(a, c, b), input2=fraction(a, a)")
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """A product of Householder reflectors: `clew.linalg.householder_product`.

    Example:
        >>> torch.orgqr(torch.tensor([[0.0], [1.0]]), torch.tensor([1.0]))
        tensor([[ 0.],
                [-1.]])
    """
    result: Tensor = linalg().householder_product(input, input2)
    return result
