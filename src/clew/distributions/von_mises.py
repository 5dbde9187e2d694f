"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Size, Tensor

from . import constraints
from .distribution import Distribution
from .utils import lazy_property

__all__ = ["VonMises"]

# Abramowitz and Stegun 9.8.1 to 9.8.4: I0(x), I1(x) / x by (x / 3.75)^2, and sqrt(x) exp(-x) I(x) by 3.75 / x, to 2e-7.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377),
    (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059),
)


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    result: Any = coefficients[-1]
    for one in reversed(coefficients[:-1]):
        result = one + x * result
    return result


def _log_bessel(x: Tensor, order: int) -> Tensor:
    """log I0(x) or log I1(x) for positive x."""
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return clew.where(x < 3.75, (x.abs() * small if order == 1 else small).log(), large)


class VonMises(Distribution):
    """The von Mises distribution on the circle: exp(concentration cos(x - loc)) / (2 pi I0(concentration)).

    Draws lie in [-pi, pi) and follow Best and Fisher 1979; where its proposals would all be refused, at concentrations
    of 0 and above 1e16, they follow the limits, a uniform and a normal distribution. `variance` is the circular one,
    1 - I1 / I0.

    Args:
        loc: an angle in radians.
        concentration: a positive number or tensor.

    Example:
        >>> torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(1.0)).log_prob(torch.tensor(0.0))
        tensor(-1.0738)
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Tensor
    concentration: Tensor
    _formulas: ClassVar = {"mean": "loc", "mode": "loc"}

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, concentration=concentration)

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()

    def _log_prob(self, value: Tensor) -> Tensor:
        height = self.concentration * (value - self.loc).cos()
        return height - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    def _proposal(self, kappa: Tensor) -> Tensor:
        """The parameter r of the wrapped Cauchy distribution that is drawn from."""
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return clew.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def _sample(self, shape: Size) -> Tensor:
        loc, kappa = self.loc.double(), self.concentration.double()
        kappa = kappa.where(kappa != 0, 1e-300)
        proposal = self._proposal(kappa)
        done = (~(proposal > 1)).expand(shape)
        angle = clew.zeros(shape, dtype=clew.float64)
        if bool(done.any()):  # it is rounded to 1, or the concentration is negative or NaN and so is the angle
            angle = clew.where(done, clew.randn(shape, dtype=clew.float64) / kappa.sqrt(), angle)
        while not bool(done.all()):
            first, second, third = clew.rand((3, *shape), dtype=clew.float64).unbind()
            z = (math.pi * first).cos()
            cosine = (1 + proposal * z) / (proposal + z)
            c = kappa * (proposal - cosine)
            accepted = (c * (2 - c) - second > 0) | ((c / second).log() + 1 - c >= 0)
            angle = clew.where(accepted, (third - 0.5).sign() * cosine.acos(), angle)
            done = done | accepted
        return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
