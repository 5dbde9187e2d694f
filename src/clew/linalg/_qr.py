"""QR factorizations, and the products of reflectors that they are stored as."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import NAMESPACE, OUT, operation
from .._out import filled
from ._checks import check_floating, check_matrices, identity_like
from ._triangular import _solve_triangular

__all__ = ["householder_product", "qr"]


def _gradient_of_qr(g_Q: Tensor | None, g_R: Tensor | None, Q: Tensor, R: Tensor, mode: str) -> Tensor:
    """Walter and Lehmann, Algorithmic differentiation of linear algebra functions, 2018."""
    if mode == "r":
        raise RuntimeError(
            "linalg.qr: the derivative depends on Q, which is not computed when mode='r'; use mode='reduced'"
        )
    rows, columns = Q.shape[-2], R.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "linalg.qr: the QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    g_Q = Q.new_zeros(Q.shape) if g_Q is None else g_Q
    g_R = R.new_zeros(R.shape) if g_R is None else g_R
    if rows >= columns:
        return _gradient_of_tall_qr(g_Q, g_R, Q, R)
    beyond, g_beyond = R[..., rows:], g_R[..., rows:]  # A[:, rows:] = Q beyond
    square = _gradient_of_tall_qr(g_Q + Q @ beyond @ g_beyond.mT, g_R[..., :rows], Q, R[..., :rows])
    result: Tensor = _core.ops.cat([square, Q @ g_beyond], -1)
    return result


def _gradient_of_tall_qr(g_Q: Tensor, g_R: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    inner = (g_R @ R.mT - Q.mT @ g_Q).triu()
    inner = inner + inner.triu(1).mT
    result: Tensor = _solve_triangular(R.mT, g_Q + Q @ inner, upper=False, left=False)
    return result


def _qr_like(A: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    (m, n), batch = A.shape[-2:], A.shape[:-2]
    inner = m if mode == "complete" else min(m, n)
    return A.new_empty(0 if mode == "r" else (*batch, m, inner)), A.new_empty((*batch, inner, n))


@operation(
    "linalg_qr(Tensor A, str mode='reduced')",
    outputs="Q R",
    rules=(_gradient_of_qr,),
    flags=NAMESPACE | OUT,
    infer=_qr_like,
    domain="A=real(c, b); A=real(a, b, d); A=real(b, c), mode='complete'",
)
def _qr(A: Any, mode: str) -> Any:
    """Q with orthonormal columns and the upper triangular R, with Q R = A.

    Example:
        >>> Q, R = torch.linalg.qr(torch.tensor([[2.0], [0.0]]))
        >>> (Q @ R).flatten()
        tensor([2., 0.])
    """
    if mode == "r":
        return numpy.zeros(0, A.dtype), numpy.linalg.qr(A, "r")
    return tuple(numpy.linalg.qr(A, mode))  # type: ignore[call-overload]


class qr_result(NamedTuple):
    Q: Tensor
    R: Tensor


@domain("A=real(a, c, b); A=real(b, d), mode='complete'")
def qr(A: Tensor, mode: str = "reduced", *, out: tuple[Tensor, Tensor] | None = None) -> qr_result:
    """The QR decomposition `A = Q @ R`.

    Args:
        A: shape (*, m, n), floating; k is the smaller of m and n.
        mode: "reduced" gives Q of shape (*, m, k) and R of (*, k, n), "complete" (*, m, m) and (*, m, n); "r" gives an
            empty Q and the reduced R.

    Returns:
        `Q` and `R`. The diagonal of R may be negative. There is a derivative if the first k columns are linearly
        independent; none for mode "r", nor for "complete" with m > n.

    Raises:
        RuntimeError: another mode, fewer than two dimensions, or integers.

    Example:
        >>> A = torch.tensor([[3.0, 1.0], [4.0, 2.0]])
        >>> Q, R = torch.linalg.qr(A)
        >>> torch.allclose(Q @ R, A), torch.allclose(Q.T @ Q, torch.eye(2), atol=1e-6)
        (True, True)
    """
    check_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"linalg.qr: qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
            "'complete'"
        )
    return filled("linalg.qr", qr_result(*_qr(A, mode)), out)


@domain("A=unit(c, b), tau=fraction(b); A=unit(a, c, b), tau=fraction(a, a)")
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first n columns of a product of Householder reflectors.

    Args:
        A: shape (*, m, n) with m >= n: column i holds reflector i below its diagonal, whose 1 is not stored.
        tau: shape (*, k) with k <= n, their factors.

    Returns:
        Shape (*, m, n).

    Raises:
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> torch.linalg.householder_product(torch.tensor([[0.0], [1.0]]), torch.tensor([1.0]))
        tensor([[ 0.],
                [-1.]])
    """
    name = "linalg.householder_product"
    check_matrices(name, A)
    check_floating(name, A, tau)
    rows, columns = A.shape[-2:]
    if rows < columns or tau.shape[-1] > columns or tau.shape[:-1] != A.shape[:-2]:
        raise RuntimeError(
            f"{name}: expected A of shape (*, m, n) with m >= n and tau of shape (*, k) with k <= n, got "
            f"{list(A.shape)} and {list(tau.shape)}"
        )
    result = identity_like(A, rows, columns).expand(A.shape)
    reflectors = A.tril(-1) + identity_like(A, rows, columns)
    for i in reversed(range(tau.shape[-1])):
        v = reflectors[..., i, None]
        result = result - tau[..., i, None, None] * (v @ (v.mT @ result))
    return filled(name, result, out)
