"""Powers and exponentials of matrices."""

from __future__ import annotations

from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._device import contiguous_format
from .._domains import domain
from .._operation import NAMESPACE, OUT, operation
from .._out import filled
from ._checks import check_square, identity_like
from ._systems import inv

__all__ = ["matrix_exp", "matrix_power"]

_ops: Any = _core.ops

_PADE = [64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1]  # fmt: skip
_PADE_REACH = 5.371920351148152  # up to this norm it is exact in float64


@domain("A=unit(a, b, b), n=3; A=dominant(b, b), n=-2; A=unit(b, b), n=0")
def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of each matrix; for negative n that of the inverse.

    Args:
        A: shape (*, m, m), floating if n is negative.

    Raises:
        LinAlgError: n is negative and a matrix is singular.

    Example:
        >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
        tensor([[1., 5.],
                [0., 1.]])
    """
    check_square("linalg.matrix_power", A, floating=n < 0)
    if n == 0:
        identity = A.clone(memory_format=contiguous_format).copy_(identity_like(A, *A.shape[-2:]))
        return filled("linalg.matrix_power", identity, out)
    base = inv(A) if n < 0 else A
    return filled("linalg.matrix_power", base.clone() if n == 1 else _power(base, abs(n)), out)


def _power(base: Tensor, n: int) -> Tensor:
    if n == 1:
        return base
    half = _power(base @ base, n // 2)
    return half @ base if n % 2 else half


def _gradient_of_exp(g: Tensor, self: Tensor) -> Tensor:
    """The derivative in the direction g at selfᵀ: the upper right block of the exponential of [[selfᵀ, g], [0, selfᵀ]]
    (Najfeld and Havel, 1995)."""
    size = self.shape[-1]
    upper = _ops.cat([self.mT, g], -1)
    lower = _ops.cat([self.new_zeros(self.shape), self.mT], -1)
    result: Tensor = _matrix_exp(_ops.cat([upper, lower], -2))[..., :size, size:]
    return result


@operation(
    "linalg_matrix_exp(Tensor self)",
    rules=(_gradient_of_exp,),
    flags=NAMESPACE | OUT,
    infer=lambda A: A.new_empty(A.shape),
    domain="self=real(b, b); self=unit(a, a, a)",
)
def _matrix_exp(self: Any) -> Any:
    """The matrix exponential: Higham's Padé approximant of degree 13 with scaling and squaring, 2005.

    Example:
        >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
        tensor([[1., 1.],
                [0., 1.]])
    """
    A = self.astype(numpy.float64)
    if A.shape[-1] == 1:
        return numpy.exp(A).astype(self.dtype)
    norms = abs(A).sum(-2).max(-1, initial=0)
    scaled = numpy.frexp(numpy.where(numpy.isfinite(norms), norms, 0) / _PADE_REACH)[1].clip(0)
    A = numpy.ldexp(A, -scaled[..., None, None])
    eye = numpy.eye(A.shape[-1])
    A2 = A @ A
    A4 = A2 @ A2
    A6 = A4 @ A2
    b = [float(one) for one in _PADE]
    odd = A @ (A6 @ (b[13] * A6 + b[11] * A4 + b[9] * A2) + b[7] * A6 + b[5] * A4 + b[3] * A2 + b[1] * eye)
    even = A6 @ (b[12] * A6 + b[10] * A4 + b[8] * A2) + b[6] * A6 + b[4] * A4 + b[2] * A2 + b[0] * eye
    result = numpy.linalg.solve(even - odd, even + odd)
    for squaring in range(scaled.max(initial=0)):
        result = numpy.where((scaled > squaring)[..., None, None], result @ result, result)
    return result.astype(self.dtype)


@domain("A=unit(a, b, b)")
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of each matrix: the sum of `matrix_power(A, k) / k!`.

    Args:
        A: shape (*, n, n), floating.

    Raises:
        RuntimeError: the matrices are not square, or integers.

    Example:
        >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
        tensor([[1., 1.],
                [0., 1.]])
    """
    check_square("linalg.matrix_exp", A)
    result: Tensor = _matrix_exp(A)
    return result
