"""Distributions on the simplex and the unit interval."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Size, Tensor, _core

from . import constraints
from .exp_family import ExponentialFamily
from .normal import Uniform
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Beta", "Dirichlet", "Kumaraswamy"]

_ops: Any = _core.ops


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of K weights that sum to 1, with a density proportional to prod x_k^(a_k - 1).

    Args:
        concentration: a, positive, with K along the last axis.

    Raises:
        ValueError: no axes, or a concentration that is not positive.

    Example:
        >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _formulas: ClassVar = {
        "mean": lambda concentration: concentration / concentration.sum(-1, keepdim=True),
        "_rsample": lambda shape, concentration: _ops._sample_dirichlet(concentration.expand(shape)),
        "_natural_params": lambda concentration: (concentration,),
        "_log_normalizer": lambda x: x.lgamma().sum(-1) - x.sum(-1).lgamma(),
    }

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mode(self) -> Tensor:
        """Where the density is largest; a corner, where it is infinite at all of them."""
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, keepdim=True)
        corner = F.one_hot(mode.argmax(dim=-1), mode.shape[-1]).to(mode.dtype)
        return clew.where((self.concentration < 1).all(-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def _log_prob(self, value: Tensor) -> Tensor:
        return (self.concentration - 1).xlogy(value).sum(-1) - self._log_normalizer(self.concentration)

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        means = (total - a.shape[-1]) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)
        return self._log_normalizer(a) + means


class Beta(ExponentialFamily):
    """The beta distribution on [0, 1], with a density proportional to x^(a - 1) (1 - x)^(b - 1).

    Args:
        concentration1, concentration0: a and b, positive numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Beta(1.0, 3.0).mean
        tensor(0.2500)
    """

    arg_constraints: ClassVar = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor
    _formulas: ClassVar = {
        "concentration1": lambda _dirichlet: _dirichlet.concentration[..., 0],
        "concentration0": lambda _dirichlet: _dirichlet.concentration[..., 1],
        "mean": lambda concentration1, concentration0: concentration1 / (concentration1 + concentration0),
        "mode": lambda _dirichlet: _dirichlet.mode[..., 0],
        "variance": lambda _dirichlet: _dirichlet.variance[..., 0],
        "_rsample": lambda shape, _dirichlet: _dirichlet._rsample(Size((*shape, 2))).select(-1, 0),
        "_log_prob": lambda value, _dirichlet: _dirichlet.log_prob(clew.stack([value, 1 - value], -1)),
        "entropy": lambda _dirichlet: _dirichlet.entropy(),
        "_natural_params": lambda concentration1, concentration0: (concentration1, concentration0),
        "_log_normalizer": lambda x, y: x.lgamma() + y.lgamma() - (x + y).lgamma(),
    }

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        both = clew.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution on [0, 1], with P(x <= t) = 1 - (1 - t^a)^b.

    Args:
        concentration1, concentration0: a and b, positive numbers or tensors that are broadcast together.

    Example:
        >>> torch.distributions.Kumaraswamy(torch.tensor(1.0), torch.tensor(1.0)).mean
        tensor(0.5000)
    """

    arg_constraints = Beta.arg_constraints
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor
    _formulas: ClassVar = {
        "mean": lambda self: self._moment(1),
        "variance": lambda self, mean: self._moment(2) - mean.pow(2),
    }

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = a, b = broadcast_all(concentration1, concentration0)
        base = Uniform(clew.zeros_like(a), clew.ones_like(a), validate_args=validate_args)
        steps = [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())]
        super().__init__(base, steps, validate_args=validate_args)

    def _moment(self, order: int) -> Tensor:
        """The mean of x^order: b B(1 + order / a, b)."""
        first, b = 1 + order / self.concentration1, self.concentration0
        return b * (first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
