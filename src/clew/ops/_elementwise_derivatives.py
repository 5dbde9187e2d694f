"""Derivatives of the operations in elementwise.py that take more than one line."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor

_ops: Any = _core.ops
_zero, _one = _core.tensor(0.0), _core.tensor(1.0)
# (sin(y) - y cos(y)) / y² = y / 3 - y³ / 30 + ..., whose coefficients are 2 n (-1)ⁿ⁺¹ / (2 n + 1)!
_SINC_SERIES = [2 * n * (-1) ** (n + 1) / math.factorial(2 * n + 1) for n in range(1, 7)]


def sinc_slope(g: Tensor, self: Tensor) -> Any:
    """π (y cos(y) - sin(y)) / y² for y = π x; near 0, where that cancels, by its series."""
    y = self * math.pi
    near = y.abs() < 0.5
    far = _ops.where(near, _one, y)
    small = _ops.where(near, y, _zero)
    square, series = small * small, _zero
    for coefficient in reversed(_SINC_SERIES):
        series = series * square + coefficient
    return g * -math.pi * _ops.where(near, series * small, (far.sin() - far * far.cos()) / (far * far))


def acosh_slope(g: Tensor, self: Tensor) -> Any:
    if self.is_complex():
        return g * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj()
    return g * (self * self - 1).rsqrt()


def logit_slope(g: Tensor, self: Tensor, eps: float | None) -> Any:
    slope = g / (self * (1 - self) + 0.0)  # of -0 as of 0
    if eps is None:
        return _ops.where((self >= 0) & (self <= 1), slope, _core.tensor(math.nan))
    return _ops.where((self < eps) | (self > 1 - eps), _zero, slope)


def copysign_slope(g: Tensor, self: Tensor, result: Tensor) -> Any:
    at_zero = self == 0
    return g * _ops.where(at_zero, _zero, result / _ops.where(at_zero, _one, self))


def larger(self: Tensor, other: Tensor) -> Any:
    return (self >= other) | _ops.isnan(other)


def smaller(self: Tensor, other: Tensor) -> Any:
    return (self <= other) | _ops.isnan(other)


def part(g: Tensor, chosen: Tensor) -> Any:
    return _ops.where(chosen, g, _zero)


def no_slope(g: Tensor) -> Tensor:
    raise NotImplementedError("heaviside: its derivative is not implemented; detach() the input")
