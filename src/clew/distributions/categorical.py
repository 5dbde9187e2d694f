"""One of several classes: as its number, as a one-hot vector, and counts of several draws."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Size, Tensor

from . import constraints
from .bernoulli import Binomial, ProbsOrLogits
from .distribution import Distribution
from .utils import broadcast_all, full_of, probs_or_logits

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


class Categorical(ProbsOrLogits):
    """The index of a class, from 0 to K - 1; mean and variance are NaN, since an index is a name.

    Args:
        probs: weights of the classes along the last axis, >= 0; they are divided by their sum.
        logits: unnormalised log-probabilities, instead of `probs`.

    Raises:
        ValueError: both or neither are given, without axes, or outside their constraint.

    Example:
        >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1)).exp()
        tensor(0.7500)
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    _num_events: int
    support = constraints.depending(
        lambda self: constraints.integer_interval(0, self._num_events - 1), is_discrete=True
    )
    _formulas: ClassVar = {
        "_num_events": lambda param_shape: param_shape[-1],
        "mean": lambda self, _param: full_of(math.nan, self._extended_shape(), _param),
        "variance": "mean",
        "mode": lambda probs: probs.argmax(dim=-1),
        "_values": lambda _num_events: clew.arange(_num_events),
    }

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        ((name, given),) = probs_or_logits(probs, logits).items()
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        total = given.sum(-1, keepdim=True) if logits is None else given.logsumexp(-1, keepdim=True)
        setattr(self, name, given / total if logits is None else given - total)
        Distribution.__init__(self, given.shape[:-1], validate_args=validate_args)

    def entropy(self) -> Tensor:
        return -(self.logits.clamp(min=clew.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def _sample(self, shape: Size) -> Tensor:
        draws = self._outer(shape).numel()
        return clew.multinomial(self.probs.reshape(-1, self._num_events), draws, True).T.reshape(shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        index, log_probs = clew.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)


class OfCategorical(Distribution):
    """Distributions over vectors that a categorical distribution of their K classes makes."""

    arg_constraints = Categorical.arg_constraints
    probs: Tensor
    logits: Tensor
    param_shape: Size
    _formulas: ClassVar = {name: f"_categorical.{name}" for name in ("probs", "logits", "param_shape")}

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)


class OneHotCategorical(OfCategorical):
    """A class as a one-hot vector; arguments as for `Categorical`.

    Example:
        >>> torch.distributions.OneHotCategorical(torch.tensor([0.2, 0.8])).mode
        tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True
    _formulas: ClassVar = {
        "mean": "probs",
        "mode": lambda self: self._one_hot(self._categorical.mode),
        "variance": lambda probs: probs * (1 - probs),
        "_sample": lambda shape, self: self._one_hot(self._categorical._sample(shape[:-1])),
        "_log_prob": lambda value, _categorical: _categorical.log_prob(value.argmax(-1)),
        "entropy": lambda _categorical: _categorical.entropy(),
        "_values": lambda probs: clew.eye(probs.shape[-1], dtype=probs.dtype),
    }

    def _one_hot(self, classes: Tensor) -> Tensor:
        return F.one_hot(classes, self.probs.shape[-1]).to(self.probs.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with `rsample`: its gradient passes to `probs` as if the draw were they (Bengio et al. 2013,
    https://arxiv.org/abs/1308.3432).

    Example:
        >>> torch.distributions.OneHotCategoricalStraightThrough(torch.tensor([0.0, 1.0])).rsample()
        tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OfCategorical):
    """The number of times each class is drawn in `total_count` draws.

    Args:
        total_count: how many draws, one number for the whole batch.
        probs, logits: as for `Categorical`.

    Raises:
        NotImplementedError: `total_count` is no single number.

    Example:
        >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
        tensor([1., 3.])
    """

    total_count: int
    support = constraints.depending(
        lambda self: constraints.multinomial(self.total_count), is_discrete=True, event_dim=1
    )
    _formulas: ClassVar = {
        "mean": lambda total_count, probs: probs * total_count,
        "variance": lambda total_count, probs: total_count * probs * (1 - probs),
    }

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    def _sample(self, shape: Size) -> Tensor:
        draws = self._categorical._sample(Size((self.total_count, *shape[:-1]))).movedim(0, -1)
        counts = clew.zeros(shape, dtype=draws.dtype).scatter_add(-1, draws, clew.ones_like(draws))
        return counts.to(self.probs.dtype)

    def entropy(self) -> Tensor:
        # log n! is a number; the sum over classes of E[log count!] is over the marginals, which are binomial.
        marginal = Binomial(self.total_count, self.probs)
        counts = marginal.enumerate_support(expand=False)[1:]
        log_factorials = (marginal.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + log_factorials

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)
