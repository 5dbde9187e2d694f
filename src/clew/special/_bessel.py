"""Bessel functions from their integrals.

An integrand that is periodic, or that dies at both ends, is integrated by the trapezoidal rule with an error that
shrinks exponentially with the number of points (Trefethen and Weideman, SIAM Review 56, 2014). Where the argument is
too large for few points, the asymptotic series of Hankel takes over (DLMF 10.17, 10.40).
"""

from __future__ import annotations

from typing import Any

import numpy

Array = Any

_POINTS = 96
_ANGLES = (numpy.arange(_POINTS) + 0.5) * (numpy.pi / _POINTS)
_LARGE = 40.0


def _by_parts(x: Array, near: Any, far: Any) -> Array:
    """`near(x)` up to _LARGE, `far(x)` beyond, in float64; x is not negative."""
    x = numpy.asarray(x, numpy.float64)
    result = numpy.empty(x.shape)
    large = x > _LARGE
    result[~large] = near(x[~large])
    result[large] = far(x[large])
    return result


def _series(order: int, x: Array, signs: Any) -> Array:
    """The sum over k of signs(k) a_k(order) / x^k; a_k is the product of (4 n² - (2 j - 1)²) / (8 j)."""
    total, term = numpy.zeros_like(x), numpy.ones_like(x)
    for k in range(20):
        total = total + signs(k) * term
        term = term * (4 * order**2 - (2 * k + 1) ** 2) / (8 * (k + 1) * x)
    return total


def scaled_i(order: int, x: Array) -> Array:
    """exp(-|x|) times the modified function of the first kind, of order 0 or 1."""
    size = abs(numpy.asarray(x, numpy.float64))

    def near(x: Array) -> Array:
        exponents = x[:, None] * (numpy.cos(_ANGLES) - 1)
        # The mean of a cosine is 0: without it nothing cancels near x = 0.
        values = numpy.expm1(exponents) * numpy.cos(_ANGLES) if order else numpy.exp(exponents)
        return values.mean(-1)

    def far(x: Array) -> Array:
        return _series(order, x, lambda k: (-1) ** k) / numpy.sqrt(2 * numpy.pi * x)

    result = _by_parts(size, near, far)
    result = numpy.where(numpy.isinf(size), 0.0, result)
    return numpy.where(numpy.asarray(x) < 0, -result, result) if order % 2 else result


def scaled_k(order: int, x: Array) -> Array:
    """exp(x) times the modified function of the second kind, of order 0 or 1; infinite at 0, NaN below."""
    x = numpy.asarray(x, numpy.float64)
    positive = x > 0
    inside = numpy.where(positive, x, 1.0)
    end = numpy.arccosh(1 + 750 / inside)  # where the integrand is below the smallest number
    nodes = numpy.linspace(0, 1, 400)
    t = end[..., None] * nodes
    values = numpy.exp(-2 * inside[..., None] * numpy.sinh(t / 2) ** 2) * numpy.cosh(order * t)
    values[..., 0] /= 2
    result = values.sum(-1) * end / (len(nodes) - 1)
    return numpy.where(positive, result, numpy.where(x == 0, numpy.inf, numpy.nan))


def j(order: int, x: Array) -> Array:
    """The function of the first kind, of order 0 or 1."""
    size = abs(numpy.asarray(x, numpy.float64))

    def far(x: Array) -> Array:
        phase = x - (order / 2 + 0.25) * numpy.pi
        even = _series(order, x, lambda k: (1, 0, -1, 0)[k % 4])
        odd = _series(order, x, lambda k: (0, 1, 0, -1)[k % 4])
        return numpy.sqrt(2 / (numpy.pi * x)) * (numpy.cos(phase) * even - numpy.sin(phase) * odd)

    def near(x: Array) -> Array:
        sines = numpy.sin(_ANGLES)
        waves = x[:, None] * sines
        return (sines * numpy.sin(waves) if order else numpy.cos(waves)).mean(-1)

    result = numpy.where(numpy.isinf(size), 0.0, _by_parts(size, near, far))
    return numpy.where(numpy.asarray(x) < 0, -result, result) if order % 2 else result
