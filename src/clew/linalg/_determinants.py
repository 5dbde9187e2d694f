"""Determinants, and their signs and logarithms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from .._core import Tensor
from .._domains import domain
from .._operation import operation
from .._out import filled
from . import _arrays
from ._checks import check_square
from ._systems import _inv_ex

__all__ = ["det", "slogdet"]


def _gradient_of_cofactors(g: Tensor, A: Tensor, result: Tensor) -> Tensor:
    inverse = _inv_ex(A)[0]
    along = (g * result).sum((-2, -1), keepdim=True)
    own: Tensor = along * inverse.mT - result @ g.mT @ inverse.mT
    return own


@operation(
    "_linalg_cofactors(Tensor A)",
    rules=(_gradient_of_cofactors,),
    infer=lambda A: A.new_empty(A.shape),
    domain="A=dominant(b, b); A=dominant(a, a, a)",
)
def _cofactors(A: Any) -> Any:
    """The derivative of the determinant: det(A) A⁻ᵀ, here from singular values, which serve singular matrices, too."""
    size = A.shape[-1]
    finite = numpy.isfinite(A).all((-2, -1), keepdims=True)
    left, values, right = _arrays.svd(numpy.where(finite, A, 0), True)
    signs = numpy.linalg.det(left) * numpy.linalg.det(right)
    others = numpy.where(numpy.eye(size, dtype=bool), 1, values[..., None, :]).prod(-1)
    return numpy.where(finite, (left * (signs[..., None] * others)[..., None, :]) @ right, numpy.nan)


@operation(
    "_linalg_det(Tensor A)",
    rules=(lambda g, A: g[..., None, None] * (_cofactors(A) if A.shape[-1] != 1 else 1),),
    node="LinalgDetBackward0",
    infer=lambda A: A.new_empty(A.shape[:-2]),
    domain="A=real(b, b); A=real(a, c, c)",
)
def _det(A: Any) -> Any:
    """The determinant; NaN where NaNs and infinities leave none, which LAPACK may take for zeros."""
    result = numpy.linalg.det(A)
    return numpy.where(numpy.isfinite(A).all((-2, -1)) | (result != 0), result, numpy.nan)


def _gradient_of_slogdet(g_sign: Tensor | None, g_logabsdet: Tensor | None, A: Tensor) -> Tensor | None:
    """The sign is constant where it has a derivative."""
    return None if g_logabsdet is None else g_logabsdet[..., None, None] * _inv_ex(A)[0].mT


@operation(
    "_linalg_slogdet(Tensor A)",
    outputs="sign logabsdet",
    rules=(_gradient_of_slogdet,),
    node="LinalgSlogdetBackward0",
    infer=lambda A: (A.new_empty(A.shape[:-2]), A.new_empty(A.shape[:-2])),
    domain="A=real(b, b); A=real(a, c, c)",
)
def _slogdet(A: Any) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    sign, logarithm = numpy.linalg.slogdet(A)
    known = numpy.isfinite(A).all((-2, -1)) | (logarithm > -numpy.inf)
    return numpy.where(known, sign, 0), numpy.where(known, logarithm, numpy.nan)


@domain("A=real(a, b, b)")
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of each matrix.

    Its first derivative is exact for singular matrices, too; the second is NaN there.

    Args:
        A: shape (*, n, n), floating.

    Raises:
        RuntimeError: the matrices are not square, or integers.

    Example:
        >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 5.0]]))
        tensor(-1.)
    """
    check_square("linalg.det", A)
    result: Tensor = _det(A)
    return filled("linalg.det", result, out)


class slogdet_result(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


@domain("A=real(a, b, b)")
def slogdet(A: Tensor, *, out: tuple[Tensor, Tensor] | None = None) -> slogdet_result:
    """The sign of each matrix's determinant and the logarithm of its absolute value, where `det` would overflow.

    Args:
        A: shape (*, n, n), floating. A singular one has sign 0 and -inf.

    Example:
        >>> sign, logabsdet = torch.linalg.slogdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> sign, logabsdet
        (tensor(-1.), tensor(0.))
    """
    check_square("linalg.slogdet", A)
    return filled("linalg.slogdet", slogdet_result(*_slogdet(A)), out)
