"""Continuous relaxations of Bernoulli and categorical draws, which have gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Size, Tensor

from . import constraints
from .bernoulli import ProbsOrLogits
from .categorical import OfCategorical
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import broadcast_all, clamp_probs, uniform

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The log-odds of `RelaxedBernoulli` draws: (logits + logistic noise) / temperature.

    (Maddison, Mnih and Teh 2017, https://arxiv.org/abs/1611.00712.)

    Example:
        >>> relaxed = torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(0.5), torch.tensor(0.5))
        >>> relaxed.log_prob(torch.tensor(0.0))
        tensor(-2.0794)
    """

    support = constraints.real
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def _rsample(self, shape: Size) -> Tensor:
        probs, noise = clamp_probs(self.probs.expand(shape)), clamp_probs(uniform(shape, self._param))
        odds = noise.log() - (-noise).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        away = logits - value * self.temperature
        return self.temperature.log() + away - 2 * F.softplus(away)


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of `RelaxedOneHotCategorical` draws: log softmax((logits + Gumbel noise) / temperature).

    Example:
        >>> relaxed_categorical = torch.distributions.relaxed_categorical
        >>> relaxed = relaxed_categorical.ExpRelaxedCategorical(torch.tensor(0.5), torch.tensor([0.5, 0.5]))
        >>> relaxed.sample().exp().sum()
        tensor(1.)
    """

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def _rsample(self, shape: Size) -> Tensor:
        gumbel = -(-clamp_probs(uniform(shape, self.logits)).log()).log()
        return clew.log_softmax((self.logits + gumbel) / self.temperature, -1)

    def _log_prob(self, value: Tensor) -> Tensor:
        classes = self.event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        scores = clew.log_softmax(logits - value * self.temperature, -1).sum(-1)
        return scores + math.lgamma(classes) + (classes - 1) * self.temperature.log()


class _Relaxed(TransformedDistribution):
    has_rsample = True
    _formulas: ClassVar = {name: f"base_dist.{name}" for name in ("temperature", "logits", "probs")}
    temperature: Any
    logits: Tensor
    probs: Tensor


class RelaxedBernoulli(_Relaxed):
    """Numbers in (0, 1) that tend to Bernoulli draws as the temperature falls to 0.

    Args:
        temperature: a positive tensor.
        probs, logits: as for `Bernoulli`.

    Example:
        >>> y = torch.distributions.RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.1, 0.9])).rsample()
        >>> bool(((y > 0) & (y < 1)).all())
        True
    """

    arg_constraints = LogitRelaxedBernoulli.arg_constraints
    support = constraints.unit_interval

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    """Weights on the simplex that tend to one-hot vectors as the temperature falls to 0.

    (Jang, Gu and Poole 2017, https://arxiv.org/abs/1611.01144.)

    Args:
        temperature: a positive tensor.
        probs, logits: as for `OneHotCategorical`.

    Example:
        >>> relaxed = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([0.5, 0.5]))
        >>> relaxed.rsample().shape
        torch.Size([2])
    """

    arg_constraints = ExpRelaxedCategorical.arg_constraints
    support = constraints.simplex

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
