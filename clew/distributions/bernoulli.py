"""Counts: Bernoulli, binomial, geometric, negative binomial and Poisson."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Size, Tensor

from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gamma import Gamma
from .utils import (
    ProbsOrLogits,
    broadcast_all,
    cross_entropy,
    probs_or_logits,
)

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability `probs`, else 0.

    Args:
        probs: the probability of 1; a number or a tensor.
        logits: its log-odds, instead of `probs`.

    >>> from clew.distributions import Bernoulli
    >>> Bernoulli(0.3).variance
    tensor(0.2100)
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, **probs_or_logits(probs, logits))

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _sample(self, shape: Size) -> Tensor:
        return clew.bernoulli(self.probs.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        return -cross_entropy(*broadcast_all(self.logits, value))

    def entropy(self) -> Tensor:
        return cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(clew.arange(2, dtype=self._param.dtype), expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp().log1p()


class _Counted(ProbsOrLogits, Distribution):
    """Distributions of a count of successes in, or before, `total_count` trials."""

    total_count: Tensor

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        chosen = probs_or_logits(probs, logits)
        (name, values), (count, values) = *chosen.items(), broadcast_all(total_count, *chosen.values())
        self._set_parameters(validate_args, total_count=count.to(values.dtype), **{name: values})


class Binomial(_Counted):
    """How many of `total_count` trials succeed, each with probability `probs`.

    Args:
        total_count: integers >= 0, a number or a tensor.
        probs, logits: as for `Bernoulli`.

    >>> from clew.distributions import Binomial
    >>> import clew
    >>> Binomial(2, clew.tensor(0.5)).log_prob(clew.tensor(1.0)).exp()
    tensor(0.5000)
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return clew.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def _sample(self, shape: Size) -> Tensor:
        return clew.binomial(self.total_count.expand(shape), self.probs.expand(shape))

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
        if not bool((self.total_count == largest).all()):
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return self._enumerated(clew.arange(1 + largest, dtype=self._param.dtype), expand)


class Geometric(ProbsOrLogits, Distribution):
    """How many trials fail before the first that succeeds, each with probability `probs`.

    Args:
        probs, logits: as for `Bernoulli`; probabilities above 0.
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, **probs_or_logits(probs, logits))
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be "
                f"positive but found invalid values:\n{self.probs[self.probs <= 0]}"
            )

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return clew.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def _sample(self, shape: Size) -> Tensor:
        draws = clew.empty(shape, dtype=self.probs.dtype).uniform_(clew.finfo(self.probs.dtype).tiny, 1)
        return (draws.log() / (-self.probs).log1p()).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        certain = (probs == 1) & (value == 0)  # 0 log 0
        return value * (-probs.masked_fill(certain, 0)).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return cross_entropy(self.logits, self.probs) / self.probs


class NegativeBinomial(_Counted):
    """How many trials succeed, each with probability `probs`, before `total_count` have failed.

    Args:
        total_count: numbers >= 0, not only integers.
        probs, logits: as for `Bernoulli`; probabilities in [0, 1).
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    def _sample(self, shape: Size) -> Tensor:
        """A Poisson draw whose rate is a gamma draw."""
        gamma = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
        return clew.poisson(gamma.sample(shape[: len(shape) - len(self._batch_shape)]))

    def _log_prob(self, value: Tensor) -> Tensor:
        count = self.total_count
        log_choices = (count + value).lgamma() - (1 + value).lgamma() - count.lgamma()
        log_choices = log_choices.masked_fill(count + value == 0, 0.0)
        return count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits) + log_choices


class Poisson(ExponentialFamily):
    """The Poisson distribution: rate^k exp(-rate) / k!.

    Args:
        rate: its mean, >= 0; a number or a tensor.

    >>> from clew.distributions import Poisson
    >>> import clew
    >>> Poisson(2.0).log_prob(clew.tensor([0.0, 1.0]))
    tensor([-2.0000, -1.3069])
    """

    arg_constraints: ClassVar = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def _sample(self, shape: Size) -> Tensor:
        return clew.poisson(self.rate.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _mean_carrier_measure(self) -> Any:  # the mean of log(1 / k!) has no closed form
        raise self._has_no("entropy")

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()
