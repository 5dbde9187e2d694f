"""Eigenvalues of symmetric matrices, and singular values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import operation
from .._out import filled
from . import _arrays
from ._checks import LinAlgError, check_matrices, check_square, identity_like

__all__ = ["eig", "eigh", "eigvals", "eigvalsh", "svd", "svdvals"]

_ops: Any = _core.ops
_DIVERGED = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated values, or "
    "NaN or infinite elements."
)


def converged(name: str, decompose: Any, *arguments: Any) -> Any:
    try:
        return decompose(*arguments)
    except numpy.linalg.LinAlgError:
        raise LinAlgError(f"{name}: {_DIVERGED}") from None


def _one_minus_on_diagonal(values: Tensor) -> Tensor:
    """Differences of all pairs, later less earlier ones by columns; ones on the diagonal, where nothing is divided."""
    differences = values.unsqueeze(-2) - values.unsqueeze(-1)
    return differences + identity_like(values, values.shape[-1], values.shape[-1])


# ---------------------------------------------------------------------------------------------------------- eigenvalues
def _gradient_of_eigh(
    g_eigenvalues: Tensor | None, g_eigenvectors: Tensor | None, eigenvalues: Tensor, eigenvectors: Tensor
) -> Tensor | None:
    """V (diag(g) + F ∘ (Vᵀ gV)) Vᵀ with F = 1 / (λj - λi) off the diagonal (Giles, An extended collection, 2008).

    The symmetric part of it, as the matrix is symmetric.
    """
    V = eigenvectors
    if g_eigenvectors is None:
        return None if g_eigenvalues is None else (V * g_eigenvalues.unsqueeze(-2)) @ V.mT
    inner = (V.mT @ g_eigenvectors) / _one_minus_on_diagonal(eigenvalues)
    inner = (inner + inner.mT) / 2
    inner = inner - inner.diagonal(0, -2, -1).diag_embed()
    if g_eigenvalues is not None:
        inner = inner + g_eigenvalues.diag_embed()
    return V @ inner @ V.mT


@operation(
    "_linalg_eigh(Tensor A, str UPLO='L')",
    outputs="eigenvalues eigenvectors",
    rules=(_gradient_of_eigh,),
    node="LinalgEighBackward0",
    infer=lambda A, UPLO: (A.new_empty(A.shape[:-1]), A.new_empty(A.shape)),
    domain="A=symmetric(b, b); A=symmetric(a, c, c), UPLO='U'",
)
def _eigh(A: Any, UPLO: str) -> Any:
    """Eigenvalues in ascending order, and eigenvectors as columns."""
    return tuple(converged("linalg.eigh", numpy.linalg.eigh, A, UPLO))


class eigh_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


def _check_triangle(name: str, UPLO: str) -> str:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"{name}: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


@domain("unsampled, 'signs of vectors are arbitrary: _linalg_eigh is sampled'")
def eigh(A: Tensor, UPLO: str = "L", *, out: tuple[Tensor, Tensor] | None = None) -> eigh_result:
    """Eigenvalues and eigenvectors of symmetric matrices.

    Args:
        A: shape (*, n, n), floating. Only one triangle is read.
        UPLO: which: "L" or "U".

    Returns:
        `eigenvalues` of shape (*, n) in ascending order, and `eigenvectors` of shape (*, n, n), as columns. The sign of
        an eigenvector is arbitrary; its gradient is infinite or NaN where eigenvalues are equal.

    Raises:
        LinAlgError: the iteration does not converge.
        RuntimeError: the matrices are not square, or integers.

    Example:
        >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 2.])
    """
    check_square("linalg.eigh", A)
    return filled("linalg.eigh", eigh_result(*_eigh(A, _check_triangle("linalg.eigh", UPLO))), out)


@domain("A=symmetric(a, b, b); A=symmetric(c, c), UPLO='U'")
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of symmetric matrices in ascending order: shape (*, n) for A of shape (*, n, n). See `eigh`.

    Example:
        >>> torch.linalg.eigvalsh(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        tensor([-1.,  1.])
    """
    check_square("linalg.eigvalsh", A)
    values: Tensor = _eigh(A, _check_triangle("linalg.eigvalsh", UPLO))[0]
    return filled("linalg.eigvalsh", values, out)


@domain("unsampled, 'it is refused'")
def eig(A: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """Not supported: eigenvalues of general matrices are complex, and matrices here are real. See `eigh`.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "linalg.eig: the eigenvalues of a general matrix are complex, which is not supported; for symmetric matrices "
        "use linalg.eigh"
    )


@domain("unsampled, 'it is refused'")
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Not supported: eigenvalues of general matrices are complex, and matrices here are real. See `eigvalsh`.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "linalg.eigvals: the eigenvalues of a general matrix are complex, which is not supported; for symmetric "
        "matrices use linalg.eigvalsh"
    )


# ------------------------------------------------------------------------------------------------------ singular values
def _gradient_of_svd(
    g_U: Tensor | None, g_S: Tensor | None, g_Vh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor
) -> Tensor | None:
    """Townsend, Differentiating the singular value decomposition, 2016. Vectors beyond the k-th count for nothing."""
    k = S.shape[-1]
    U, Vh = U[..., :k], Vh[..., :k, :]
    if g_U is None and g_Vh is None:
        return None if g_S is None else (U * g_S.unsqueeze(-2)) @ Vh
    row, column = S.unsqueeze(-2), S.unsqueeze(-1)
    gaps = _one_minus_on_diagonal(S) * (row + column).where(row != column, 1)  # s_j² - s_i²
    inner: Any = 0 if g_S is None else g_S.diag_embed()
    outer: Any = 0
    if g_U is not None:
        g_U = g_U[..., :k]
        turn = U.mT @ g_U
        inner = inner + (turn - turn.mT) / gaps * row
        if U.shape[-2] > k:
            outer = outer + ((g_U - U @ turn) / row) @ Vh
    if g_Vh is not None:
        g_Vh = g_Vh[..., :k, :]
        turn = Vh @ g_Vh.mT
        inner = inner + column * ((turn - turn.mT) / gaps)
        if Vh.shape[-1] > k:
            outer = outer + (U / row) @ (g_Vh - turn.mT @ Vh)
    result: Tensor = U @ inner @ Vh + outer
    return result


def _svd_like(A: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:
    (m, n), batch = A.shape[-2:], A.shape[:-2]
    least = min(m, n)
    columns, rows = (m, n) if full_matrices else (least, least)
    return A.new_empty((*batch, m, columns)), A.new_empty((*batch, least)), A.new_empty((*batch, rows, n))


@operation(
    "_linalg_svd(Tensor A, bool full_matrices=False)",
    outputs="U S Vh",
    rules=(_gradient_of_svd,),
    node="LinalgSvdBackward0",
    infer=lambda A, full_matrices: _svd_like(A, full_matrices),
    domain="A=real(b, b); A=real(a, c, b); A=real(b, d)",
)
def _svd(A: Any, full_matrices: bool) -> Any:
    """U, the singular values in descending order, and Vᵀ, with U diag(S) Vᵀ = A."""
    return tuple(converged("linalg.svd", _arrays.svd, A, full_matrices))


@operation("_linalg_svdvals(Tensor A)", outputs="S", infer=lambda A: _svd_like(A, False)[1], domain="A=real(a, c, b)")
def _svdvals_alone(A: Any) -> Any:
    """The singular values without vectors, which take most of the time."""
    return converged("linalg.svdvals", _arrays.svd, A, False, False)


class svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


@domain("unsampled, 'signs of vectors are arbitrary: _linalg_svd is sampled'")
def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> svd_result:
    """The singular value decomposition `A = U @ diag(S) @ Vh`.

    Args:
        A: shape (*, m, n), floating; k is the smaller of m and n.
        full_matrices: U of shape (*, m, m) and Vh of (*, n, n), else (*, m, k) and (*, k, n).
        driver: for CUDA only.

    Returns:
        `U`, `S` of shape (*, k) in descending order, `Vh`. Signs of the vectors are arbitrary. Gradients of the vectors
        are infinite or NaN where singular values are equal, or zero in a matrix that is not square; only the first k
        vectors pass one on.

    Raises:
        LinAlgError: the iteration does not converge.

    Example:
        >>> torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
    """
    check_matrices("linalg.svd", A)
    _check_driver("linalg.svd", driver)
    return filled("linalg.svd", svd_result(*_svd(A, full_matrices)), out)


def _check_driver(name: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(f"{name}: keyword argument `driver=` is only supported on CUDA inputs; leave it out")


def _singular_values(A: Tensor) -> Tensor:
    values: Tensor = _svd(A, False)[1] if _core.asks_for_derivative(A) else _svdvals_alone(A)
    return values


@domain("A=real(a, c, b)")
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values in descending order: shape (*, min(m, n)) for A of shape (*, m, n).

    Example:
        >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor([4., 3.])
    """
    check_matrices("linalg.svdvals", A)
    _check_driver("linalg.svdvals", driver)
    return filled("linalg.svdvals", _singular_values(A), out)
