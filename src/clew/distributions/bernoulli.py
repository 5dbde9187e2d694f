"""Counts: Bernoulli, binomial, geometric, negative binomial and Poisson."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Size, Tensor
from clew._samples import all_true

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gamma import Gamma
from .utils import broadcast_all, cross_entropy, lazy_property, logits_to_probs, probs_or_logits, probs_to_logits

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]


class ProbsOrLogits(Distribution):
    """Distributions that are made from `probs` or from `logits`: each gives the other, as log-odds."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    _is_binary = True
    _param: Tensor
    param_shape: Size
    _formulas: ClassVar = {
        "_param": lambda self: self.probs if "probs" in self.__dict__ else self.logits,
        "param_shape": "_param.shape",
    }

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, **probs_or_logits(probs, logits))

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, self._is_binary)


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability `probs`, else 0.

    Args:
        probs: the probability of 1; a number or a tensor.
        logits: its log-odds, instead of `probs`.

    Raises:
        ValueError: both or neither are given, or a probability is not in [0, 1].

    Example:
        >>> torch.distributions.Bernoulli(0.3).variance
        tensor(0.2100)
        >>> torch.distributions.Bernoulli(torch.tensor([0.0, 1.0])).sample()
        tensor([0., 1.])
    """

    support = constraints.boolean
    has_enumerate_support = True
    _formulas: ClassVar = {
        "mean": "probs",
        "mode": lambda probs: (probs >= 0.5).to(probs.dtype).masked_fill(probs == 0.5, math.nan),
        "variance": lambda probs: probs * (1 - probs),
        "_sample": lambda shape, probs: clew.bernoulli(probs.expand(shape)),
        "_log_prob": lambda value, logits: -cross_entropy(*broadcast_all(logits, value)),
        "entropy": lambda logits, probs: cross_entropy(logits, probs),
        "_values": lambda _param: clew.arange(2, dtype=_param.dtype),
        "_natural_params": lambda logits: (logits,),
        "_log_normalizer": lambda x: x.exp().log1p(),
    }


class _Counted(ProbsOrLogits):
    """Distributions of a count of successes in, or before, `total_count` trials."""

    total_count: Tensor

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        ((name, values),) = probs_or_logits(probs, logits).items()
        count, values = broadcast_all(total_count, values)
        self._set_parameters(validate_args, total_count=count.to(values.dtype), **{name: values})


class Binomial(_Counted):
    """The number of successes in `total_count` trials, each with probability `probs`.

    Args:
        total_count: integers >= 0, a number or a tensor.
        probs, logits: as for `Bernoulli`.

    Example:
        >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.tensor(1.0)).exp()
        tensor(0.5000)
    """

    arg_constraints: ClassVar = {"total_count": constraints.nonnegative_integer, **ProbsOrLogits.arg_constraints}
    has_enumerate_support = True
    support = constraints.depending(lambda self: constraints.integer_interval(0, self.total_count), is_discrete=True)
    _formulas: ClassVar = {
        "mean": lambda total_count, probs: total_count * probs,
        "mode": lambda total_count, probs: clew.minimum(((total_count + 1) * probs).floor(), total_count),
        "variance": lambda total_count, probs: total_count * probs * (1 - probs),
        "_sample": lambda shape, total_count, probs: clew.binomial(total_count.expand(shape), probs.expand(shape)),
    }

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    def _log_prob(self, value: Tensor) -> Tensor:
        count = self.total_count
        log_choices = (count + 1).lgamma() - (value + 1).lgamma() - (count - value + 1).lgamma()
        # logsigmoid(-x) = log(1 - probs), exact for large x
        return log_choices + value * self.logits + count * F.logsigmoid(-self.logits)

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self._all_values("entropy", False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._all_values("enumerate_support", expand)

    def _all_values(self, name: str, expand: bool) -> Tensor:
        largest = int(self.total_count.max())
        if not all_true(self.total_count == largest):
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return self._enumerated(clew.arange(1 + largest, dtype=self._param.dtype), expand)


class Geometric(ProbsOrLogits):
    """The number of failures before the first success, each trial with probability `probs`.

    Args:
        probs, logits: as for `Bernoulli`; probabilities above 0.

    Raises:
        ValueError: a probability is not in (0, 1].

    Example:
        >>> torch.distributions.Geometric(0.25).mean
        tensor(3.)
    """

    support = constraints.nonnegative_integer
    _formulas: ClassVar = {
        "mean": lambda probs: 1 / probs - 1,
        "mode": lambda probs: clew.zeros_like(probs),
        "variance": lambda probs: (1 / probs - 1) / probs,
        "entropy": lambda logits, probs: cross_entropy(logits, probs) / probs,
    }

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not all_true(self.probs > 0):
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be "
                f"positive but found invalid values:\n{self.probs[self.probs <= 0]}"
            )

    def _sample(self, shape: Size) -> Tensor:
        draws = clew.empty(shape, dtype=self.probs.dtype).uniform_(clew.finfo(self.probs.dtype).tiny, 1)
        return (draws.log() / (-self.probs).log1p()).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        certain = (probs == 1) & (value == 0)  # 0 log 0
        return value * (-probs.masked_fill(certain, 0)).log1p() + self.probs.log()


class NegativeBinomial(_Counted):
    """The number of successes, each with probability `probs`, before `total_count` failures.

    Args:
        total_count: numbers >= 0, not only integers.
        probs, logits: as for `Bernoulli`; probabilities in [0, 1).

    Example:
        >>> torch.distributions.NegativeBinomial(2.0, torch.tensor(0.5)).mean
        tensor(2.)
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _formulas: ClassVar = {
        "mean": lambda total_count, logits: total_count * logits.exp(),
        "mode": lambda total_count, logits: ((total_count - 1) * logits.exp()).floor().clamp(min=0.0),
        "variance": lambda mean, logits: mean / (-logits).sigmoid(),
    }

    def _sample(self, shape: Size) -> Tensor:
        """A Poisson draw whose rate is a gamma draw."""
        gamma = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
        return clew.poisson(gamma.sample(self._outer(shape)))

    def _log_prob(self, value: Tensor) -> Tensor:
        count = self.total_count
        log_choices = (count + value).lgamma() - (1 + value).lgamma() - count.lgamma()
        log_choices = log_choices.masked_fill(count + value == 0, 0.0)
        return count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits) + log_choices


class Poisson(ExponentialFamily):
    """The Poisson distribution: rate^k exp(-rate) / k!.

    Args:
        rate: its mean, >= 0; a number or a tensor.

    Example:
        >>> torch.distributions.Poisson(2.0).log_prob(torch.tensor([0.0, 1.0]))
        tensor([-2.0000, -1.3069])
    """

    arg_constraints: ClassVar = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor
    _formulas: ClassVar = {
        "mean": "rate",
        "mode": lambda rate: rate.floor(),
        "variance": "rate",
        "_sample": lambda shape, rate: clew.poisson(rate.expand(shape)),
        "_natural_params": lambda rate: (rate.log(),),
        "_log_normalizer": lambda x: x.exp(),
    }

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, rate=rate)

    def _log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _mean_carrier_measure(self) -> Any:  # the mean of log(1 / k!) has no closed form
        raise self._has_no("entropy")
