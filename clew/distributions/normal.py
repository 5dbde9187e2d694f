"""The normal distribution, and what is made from it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Size, Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .utils import standard_normal

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """The normal distribution with the density exp(-((x - loc) / scale)² / 2) / (scale sqrt(2 pi)).

    Args:
        loc, scale: mean and standard deviation, numbers or tensors that are broadcast together.

    >>> import clew
    >>> from clew.distributions import Normal
    >>> Normal(clew.tensor([0.0]), clew.tensor([1.0])).log_prob(clew.tensor([0.0]))
    tensor([-0.9189])
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, loc=loc, scale=scale)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.pow(2))

    def _sample(self, shape: Size) -> Tensor:
        return clew.normal(self.loc.expand(shape), self.scale.expand(shape))

    def _rsample(self, shape: Size) -> Tensor:
        return self.loc + standard_normal(shape, self.loc) * self.scale

    def _log_prob(self, value: Tensor) -> Tensor:
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(2 * math.pi) / 2

    def _cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + ((value - self.loc) / self.scale / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * clew.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
