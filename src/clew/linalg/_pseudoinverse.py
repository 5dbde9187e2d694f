"""Pseudoinverses, ranks and least squares, from singular values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._numeric import finfo
from .._operation import operation
from .._out import filled
from ..ops._options import need_values
from . import _arrays
from ._checks import check_floating, check_matrices, check_square
from ._spectral import converged

__all__ = ["lstsq", "matrix_rank", "pinv"]

_ops: Any = _core.ops


def _gradient_of_pinv(g: Tensor, A: Tensor, result: Tensor) -> Tensor:
    """Golub and Pereyra, The differentiation of pseudo-inverses, 1973; where the rank stays as it is."""
    P, transposed = result, result.mT
    first = -(transposed @ g @ transposed)
    second = (g.mT @ P - A @ (P @ g.mT @ P)) @ transposed
    third = transposed @ (P @ g.mT - (P @ g.mT @ P) @ A)
    return first + second + third


@operation(
    "_linalg_pinv(Tensor A, Tensor atol, Tensor rtol, bool hermitian=False)",
    rules=(_gradient_of_pinv,),
    node="LinalgPinvBackward0",
    infer=lambda A, atol, rtol, hermitian: A.new_empty((*A.shape[:-2], A.shape[-1], A.shape[-2])),
    domain="A=real(b, a), atol=constant(real()), rtol=constant(fraction()*1e-9); "
    "A=real(a, b, c), atol=constant(fraction()*1e-9), rtol=constant(fraction()*1e-9)",
)
def _pinv(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """The pseudoinverse, of singular values above max(atol, rtol * the largest)."""
    left, values, right = _decomposed(A, hermitian)
    small = abs(values) <= _threshold(values, atol, rtol)
    inverse = numpy.where(small, 0, 1 / numpy.where(small, 1, values))
    return (right.swapaxes(-1, -2) * inverse[..., None, :].astype(A.dtype)) @ left.swapaxes(-1, -2)


def _decomposed(A: Any, hermitian: bool) -> Any:
    if not hermitian:
        return converged("linalg.svd", _arrays.svd, A)
    values, vectors = converged("linalg.eigh", numpy.linalg.eigh, A)
    return vectors, values, vectors.swapaxes(-1, -2)


def _threshold(values: Any, atol: Any, rtol: Any) -> Any:
    """What a singular value must exceed, of shape (*, 1)."""
    largest = abs(values).max(-1, initial=0)
    return numpy.maximum(atol, rtol * largest)[..., None]


def _tolerances(name: str, A: Tensor, atol: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors; the relative one is max(m, n) times the dtype's epsilon, unless an absolute one is given."""
    if rtol is None:
        step = finfo(A.dtype).eps
        default = _core.tensor(max(A.shape[-2:]) * step, dtype=A.dtype)
        rtol = _ops.where(atol > 0, 0.0, default) if isinstance(atol, Tensor) else 0.0 if atol else default
    found = []
    for value in (0.0 if atol is None else atol, rtol):
        if isinstance(value, Tensor) and value.requires_grad:
            raise RuntimeError(f"{name}: expected tolerances that do not require grad")
        found.append(value.to(A.dtype) if isinstance(value, Tensor) else _core.tensor(float(value), dtype=A.dtype))
    return found[0], found[1]


@domain("A=real(a, c, b); A=symmetric(b, b), hermitian=True")
def pinv(
    A: Tensor,
    rcond: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The Moore-Penrose pseudoinverse.

    Args:
        A: shape (*, m, n), floating.
        rcond: an older name of `rtol`.
        hermitian: A is symmetric; only its lower triangle is read.
        atol, rtol: singular values up to max(atol, rtol * the largest) count as zeros. The defaults are 0, and
            max(m, n) times the dtype's epsilon if there is no atol.

    Returns:
        Shape (*, n, m).

    Raises:
        RuntimeError: fewer than two dimensions, or integers.

    Example:
        >>> torch.linalg.pinv(torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]))
        tensor([[1.0000, 0.0000, 0.0000],
                [0.0000, 0.0000, 0.5000]])
    """
    check_matrices("linalg.pinv", A)
    if hermitian:
        check_square("linalg.pinv", A)
    result: Tensor = _pinv(A, *_tolerances("linalg.pinv", A, atol, rcond if rtol is None else rtol), hermitian)
    return filled("linalg.pinv", result, out)


@operation(
    "_linalg_matrix_rank(Tensor A, Tensor atol, Tensor rtol, bool hermitian=False)",
    infer=lambda A, atol, rtol, hermitian: A.new_empty(A.shape[:-2], dtype=_core.dtypes["int64"]),
    domain="A=real(a, b, c), atol=constant(fraction()), rtol=constant(fraction())",
)
def _matrix_rank(A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    """How many singular values are above max(atol, rtol * the largest)."""
    values = abs(numpy.linalg.eigvalsh(A)) if hermitian else converged("linalg.svd", _arrays.svd, A, False, False)
    return (values > _threshold(values, atol, rtol)).sum(-1)


@domain("A=real(a, c, b); A=symmetric(b, b), hermitian=True; A=real(c, d), tol=1.0")
def matrix_rank(
    A: Tensor,
    tol: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The number of singular values that are not zero (int64), for each matrix.

    Args:
        A: shape (*, m, n), floating.
        tol: an older name of `atol`, for which there is no relative tolerance.
        hermitian: A is symmetric; only its lower triangle is read.
        atol, rtol: as in `pinv`.

    Example:
        >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
        tensor(1)
    """
    check_matrices("linalg.matrix_rank", A)
    if hermitian:
        check_square("linalg.matrix_rank", A)
    if tol is not None:
        atol, rtol = tol, 0.0
    result: Tensor = _matrix_rank(A, *_tolerances("linalg.matrix_rank", A, atol, rtol), hermitian)
    return filled("linalg.matrix_rank", result, out)


# -------------------------------------------------------------------------------------------------------- least squares
def _gradient_of_fitted(g_solution: Tensor, A: Tensor, B: Tensor, rcond: Tensor) -> Tensor:
    P = _pinv(A, _core.tensor(0.0, dtype=A.dtype), rcond)
    return _gradient_of_pinv(g_solution @ B.mT, A, P)


def _gradient_of_target(g_solution: Tensor, A: Tensor, rcond: Tensor) -> Tensor:
    result: Tensor = _pinv(A, _core.tensor(0.0, dtype=A.dtype), rcond).mT @ g_solution
    return result


@operation(
    "_linalg_lstsq(Tensor A, Tensor B, Tensor rcond)",
    outputs="solution rank singular_values",
    rules=(_gradient_of_fitted, _gradient_of_target),
    node="LinalgLstsqBackward0",
    derivative="B",
    infer=lambda A, B, rcond: (
        B.new_empty((*B.shape[:-2], A.shape[-1], B.shape[-1])),
        A.new_empty(A.shape[:-2], dtype=_core.dtypes["int64"]),
        A.new_empty((*A.shape[:-2], min(A.shape[-2:]))),
    ),
    domain="A=real(c, b), B=real(c, a), rcond=constant(fraction()*1e-9); "
    "A=real(a, b, c), B=real(a, b, a), rcond=constant(fraction()*1e-9)",
)
def _lstsq(A: Any, B: Any, rcond: Any) -> Any:
    """The X of smallest norm that minimises |A X - B|, the rank of A, its singular values."""
    left, values, right = _decomposed(A, False)
    small = values <= _threshold(values, 0, rcond)
    inverse = numpy.where(small, 0, 1 / numpy.where(small, 1, values)).astype(A.dtype)
    solution = right.swapaxes(-1, -2) @ (inverse[..., None] * (left.swapaxes(-1, -2) @ B))
    return solution, (~small).sum(-1), values


class lstsq_result(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@domain("A=real(a, c, b), B=real(a, c, b); A=real(c, b), B=real(c), driver='gelsd'; A=real(b, d), B=real(b, a)")
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> lstsq_result:
    """The least-squares solution: the X of smallest norm that minimises the Frobenius norm of `A @ X - B`.

    Args:
        A: shape (*, m, n), floating.
        B: shape (*, m, k), or (*, m) with the batch of A.
        rcond: singular values up to so many times the largest count as zeros; None means max(m, n) times the dtype's
            epsilon.
        driver: LAPACK's "gelsy" (the default), "gels", "gelsd" or "gelss": it decides what is returned beside the
            solution. All solve by singular values.

    Returns:
        `solution` of shape (*, n, k) or (*, n); `residuals`, the squared norms of the columns of `A @ X - B`, if m > n
        and all matrices have full rank, else empty; `rank` (empty for "gels"); `singular_values` (for "gelsd" and
        "gelss", else empty).

    Raises:
        RuntimeError: another driver, shapes that do not fit, or integers.

    Example:
        >>> torch.linalg.lstsq(torch.tensor([[1.0], [0.0]]), torch.tensor([[2.0], [3.0]])).solution
        tensor([[2.]])
    """
    name = "linalg.lstsq"
    check_matrices(name, A)
    check_floating(name, A, B)
    need_values(name, A, B)  # whether there are residuals depends on the ranks
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver!r}; leave it out"
        )
    vector = A.dim() - 1 == B.dim() and B.shape == A.shape[:-1]
    right = B.unsqueeze(-1) if vector else B
    if right.dim() < 2 or right.shape[-2] != A.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-{1 if vector else 2}), got "
                           f"{list(A.shape)} and {list(B.shape)}")  # fmt: skip
    tolerance = _tolerances(name, A, None, rcond)[1]
    solution, rank, values = _lstsq(A, right, tolerance)
    rows, columns = A.shape[-2:]
    nothing = _core.tensor([], dtype=A.dtype)
    residuals = nothing
    if rows > columns and driver != "gelsy" and (driver == "gels" or (rank == columns).all()):
        residuals = (A @ solution - right).square().sum(-2)
    return lstsq_result(
        solution.squeeze(-1) if vector else solution,
        residuals,
        _core.tensor([], dtype=rank.dtype) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else nothing,
    )
