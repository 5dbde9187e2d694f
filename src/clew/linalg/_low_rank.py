"""The largest singular values of a matrix, from random products with it.

Halko, Martinsson and Tropp (2009), https://arxiv.org/abs/0909.4061, algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from .. import _core
from .._core import Tensor
from .._domains import domain
from ..ops.random import randn

__all__ = ["pca_lowrank", "svd_lowrank"]


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns that nearly span what A maps to."""
    from . import qr

    Q = qr(A @ randn(A.shape[-1], q, dtype=A.dtype, device=A.device))[0]
    for _ in range(niter):
        Q = qr(A.mH @ Q)[0]
        Q = qr(A @ Q)[0]
    return Q


@domain("unsampled, 'its vectors depend on random numbers'")
def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The `q` largest singular values of `A - M` and their vectors, nearly: `A - M ≈ U @ diag(S) @ V.mH`.

    It draws as many random numbers as PyTorch, so that the same seed gives the same values.

    Args:
        A: of shape (..., m, n).
        q: how many; a few more than the rank is best.
        niter: how often A is applied to improve them.
        M: what is taken from A, of a shape that broadcasts to that of A.

    Returns:
        U (..., m, q), S (..., q) in descending order, V (..., n, q).

    Raises:
        ValueError: `q` is not between 0 and min(m, n), or `niter` is negative.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.svd_lowrank(torch.ones(3, 4), q=1)[1]
        tensor([3.4641])
    """
    if not 0 <= q <= min(A.shape[-2:]) or niter < 0:
        raise ValueError(
            f"svd_lowrank: expected q from 0 to {min(A.shape[-2:])} and niter of at least 0, got {q} and {niter}"
        )
    from . import svd

    if M is not None:
        A = A - M
    is_wide = A.shape[-2] < A.shape[-1]
    if is_wide:
        A = A.mH
    Q = _basis(A, q, niter)
    U, S, Vh = svd(Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if is_wide else (U, S, V)


@domain("unsampled, 'its vectors depend on random numbers'")
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of rows: `svd_lowrank` of A less the mean of its rows.

    Args:
        A: data (..., m, n), m samples of n features.
        q: how many components; min(6, m, n) by default.
        center: whether the mean is taken off.
        niter: as in `svd_lowrank`.

    Returns:
        U, S and V as of `svd_lowrank`; the columns of V are the components.

    Raises:
        ValueError: `q` or `niter` is out of range.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.pca_lowrank(torch.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)[1]
        tensor([1.4142])
    """
    centered = A - _core.ops.mean(A, -2, True) if center else A
    return svd_lowrank(centered, min(6, *A.shape[-2:]) if q is None else q, niter)
