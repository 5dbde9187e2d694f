"""Determinants, and their signs and logarithms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._operation import operation
from .._out import filled
from . import _arrays
from ._checks import check_square
from ._systems import _inv_ex

__all__ = ["det", "slogdet"]

_ops: Any = _core.ops


# Note [Derivatives of the determinant]
# A determinant is a polynomial, so it has every derivative at every matrix; a formula with the inverse has them at
# invertible ones alone. Hence a family of operations that is closed under differentiation: the derivative of the
# cofactors along the matrices X1 to Xk, which is the matrix C with
#     <C, H> = the (k + 1)th derivative of det at A along X1, ..., Xk, H.
# That is symmetric in all of its directions, so the gradient by A is the same with one direction more, the gradient g,
# and that by Xi is the same with g in its place. The kernels work in the frame of the singular vectors of A, where A is
# diagonal.


def _gradient_of_cofactors(g: Tensor, A: Tensor, directions: Tensor) -> Tensor:
    more: Tensor = _cofactors_along(A, _ops.cat([directions, g.unsqueeze(-3)], -3))
    return more


def _gradient_of_directions(g: Tensor, A: Tensor, directions: Tensor) -> Tensor:
    each = directions.unbind(-3)
    exchanged = [_ops.stack([*each[:i], g, *each[i + 1 :]], -3) for i in range(len(each))]
    gradient: Tensor = _ops.stack([_cofactors_along(A, one) for one in exchanged], -3)
    return gradient


@operation(
    "_linalg_cofactors_along(Tensor A, Tensor directions)",
    rules=(_gradient_of_cofactors, _gradient_of_directions),
    infer=lambda A, directions: A.new_empty(A.shape),
    domain="A=real(b, b), directions=real(1, b, b); A=real(a, c, c), directions=real(a, 2, c, c)",
)
def _cofactors_along(A: Any, directions: Any) -> Any:
    """The derivative of the cofactors of A along k matrices (..., k, n, n): Note [Derivatives of the determinant]."""
    size, count = A.shape[-1], directions.shape[-3]
    if count >= size:
        return numpy.zeros_like(A)
    finite = numpy.isfinite(A).all((-2, -1), keepdims=True)
    left, values, right, sign = _frame(A, finite)
    turned = _transposed(left)[..., None, :, :] @ directions @ _transposed(right)[..., None, :, :]
    inside = _first_order(values, turned[..., 0, :, :]) if count == 1 else _higher_orders(values, turned)
    return numpy.where(finite, sign[..., None, None] * (left @ inside @ right), numpy.nan).astype(A.dtype)


def _transposed(a: Any) -> Any:
    return a.swapaxes(-2, -1)


def _frame(A: Any, finite: Any) -> tuple[Any, Any, Any, Any]:
    """Singular vectors and values of matrices, and the sign of the vectors' determinants."""
    left, values, right = _arrays.svd(numpy.where(finite, A, 0), True)
    return left, values, right, numpy.linalg.det(left) * numpy.linalg.det(right)


def _first_order(values: Any, direction: Any) -> Any:
    """At a diagonal matrix: each entry leaves out two of the values, whose other products are the coefficients."""
    size = values.shape[-1]
    place = numpy.arange(size)
    most, (a, b) = values[..., : size - 2].prod(-1), (values[..., size - 2], values[..., size - 1])
    # Only the two smallest values, a and b, may be 0 where a product is not: by the others it may be divided.
    large = numpy.where(place < size - 2, values, 1)
    others = most[..., None, None] / (large[..., :, None] * large[..., None, :])
    smallest = (place == size - 2) + 2 * (place == size - 1)
    which = numpy.minimum(smallest[:, None] + smallest, 3)  # of a and b are left out: none, a, b, both
    beside = numpy.stack([a * b, b, a, numpy.ones_like(a)], -1)[..., which]
    products = numpy.where(beside == 0, 0, others * beside)
    products[..., range(size), range(size)] = 0
    along = numpy.diagonal(direction, axis1=-2, axis2=-1)
    result = -products * _transposed(direction)
    result[..., range(size), range(size)] = (products @ along[..., None])[..., 0]
    return result


def _higher_orders(values: Any, directions: Any) -> Any:
    """At a diagonal matrix D: the mean of the derivatives at D + e I, where e goes through roots of unity of some size.

    The derivative is a polynomial in e of a degree below the number of roots, so this mean is its value at e = 0. The
    shifted matrices M are invertible. With X = t1 X1 + ... + tk Xk the derivative is the coefficient of t1 ... tk in
    det(M + X) (M + X)^-T. Coefficients of the two factors are kept for each set of directions, as a bit mask.
    """
    size, count = values.shape[-1], directions.shape[-3]
    scale = values[..., size - count - 2] if size > count + 1 else values[..., 0]
    scale = numpy.where(scale > 0, scale, numpy.where(values[..., 0] > 0, values[..., 0], 1)) / size
    roots = (size - count) | 1  # an odd number: -1 is none of them
    total = 0
    for root in numpy.exp(2j * numpy.pi * numpy.arange(roots) / roots):
        diagonal = values + (scale * root)[..., None]
        scaled = directions / diagonal[..., None, :, None]
        determinants: dict[int, Any] = {0: numpy.ones_like(diagonal[..., 0])}
        inverses: dict[int, Any] = {0: numpy.broadcast_to(numpy.eye(size), directions[..., 0, :, :].shape)}
        for members in range(1, 1 << count):
            each = [i for i in range(count) if members >> i & 1]
            inverses[members] = -sum(scaled[..., i, :, :] @ inverses[members ^ 1 << i] for i in each)
            others = members ^ 1 << each[0]
            determinants[members] = sum(
                determinants[part]
                * numpy.trace(inverses[others ^ part] @ scaled[..., each[0], :, :], axis1=-2, axis2=-1)
                for part in range(others + 1)
                if part & others == part
            )
        everything = (1 << count) - 1
        parts = (determinants[part][..., None, None] * inverses[everything ^ part] for part in determinants)
        total = total + diagonal.prod(-1)[..., None, None] * _transposed(sum(parts) / diagonal[..., None, :])
    return (total / roots).real


@operation(
    "_linalg_cofactors(Tensor A)",
    rules=(lambda g, A: _cofactors_along(A, g.unsqueeze(-3)),),
    infer=lambda A: A.new_empty(A.shape),
    domain="A=real(b, b); A=real(a, a, a)",
)
def _cofactors(A: Any) -> Any:
    """The derivative of the determinant: det(A) A⁻ᵀ, here from singular values, which serve singular matrices, too."""
    size = A.shape[-1]
    finite = numpy.isfinite(A).all((-2, -1), keepdims=True)
    left, values, right, signs = _frame(A, finite)
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
