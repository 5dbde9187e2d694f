"""Continuous relaxations of Bernoulli and categorical draws, which have gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Size, Tensor

from . import constraints
from .categorical import _OfCategorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import ProbsOrLogits, broadcast_all, clamp_probs, probs_or_logits, uniform

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The log-odds of `RelaxedBernoulli` draws: (logits + logistic noise) / temperature.

    (Maddison, Mnih and Teh 2017, https://arxiv.org/abs/1611.00712.)
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._set_parameters(validate_args, **probs_or_logits(probs, logits))

    def _rsample(self, shape: Size) -> Tensor:
        probs, noise = clamp_probs(self.probs.expand(shape)), clamp_probs(uniform(shape, self._param))
        odds = noise.log() - (-noise).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        away = logits - value * self.temperature
        return self.temperature.log() + away - 2 * F.softplus(away)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that tend to Bernoulli draws as the temperature falls to 0.

    Args:
        temperature: a positive tensor.
        probs, logits: as for `Bernoulli`.
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature: ClassVar = property(lambda self: self.base_dist.temperature)
    logits: ClassVar = property(lambda self: self.base_dist.logits)
    probs: ClassVar = property(lambda self: self.base_dist.probs)


class ExpRelaxedCategorical(_OfCategorical):
    """The logarithms of `RelaxedOneHotCategorical` draws: log softmax((logits + Gumbel noise) / temperature)."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._set_categorical(probs, logits, validate_args)

    def _rsample(self, shape: Size) -> Tensor:
        gumbel = -(-clamp_probs(uniform(shape, self.logits)).log()).log()
        return clew.log_softmax((self.logits + gumbel) / self.temperature, -1)

    def _log_prob(self, value: Tensor) -> Tensor:
        classes = self.event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        scores = clew.log_softmax(logits - value * self.temperature, -1).sum(-1)
        return scores + math.lgamma(classes) + (classes - 1) * self.temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Weights on the simplex that tend to one-hot vectors as the temperature falls to 0.

    (Jang, Gu and Poole 2017, https://arxiv.org/abs/1611.01144.)

    Args:
        temperature: a positive tensor.
        probs, logits: as for `OneHotCategorical`.
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature: ClassVar = property(lambda self: self.base_dist.temperature)
    logits: ClassVar = property(lambda self: self.base_dist.logits)
    probs: ClassVar = property(lambda self: self.base_dist.probs)
