"""One of several classes: as its number, as a one-hot vector, and counts of several draws."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
import clew.nn.functional as F
from clew import Size, Tensor

from . import constraints
from .bernoulli import Binomial
from .distribution import Distribution
from .utils import ProbsOrLogits, broadcast_all, full_of, probs_or_logits

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


class Categorical(ProbsOrLogits, Distribution):
    """The number of a class, from 0 to K - 1.

    Args:
        probs: weights of the classes along the last axis, >= 0; they are divided by their sum.
        logits: unnormalised log-probabilities, instead of `probs`.

    >>> import clew
    >>> from clew.distributions import Categorical
    >>> Categorical(clew.tensor([1.0, 3.0])).log_prob(clew.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        ((name, given),) = probs_or_logits(probs, logits).items()
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        normalised = (
            given / given.sum(-1, keepdim=True) if logits is None else given - given.logsumexp(-1, keepdim=True)
        )
        setattr(self, name, normalised)
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @property
    def mean(self) -> Tensor:
        """NaN: the numbers of classes are names."""
        return full_of(math.nan, self._extended_shape(), self._param)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        """NaN, as the mean."""
        return self.mean

    def _sample(self, shape: Size) -> Tensor:
        draws = shape[: len(shape) - len(self._batch_shape)].numel()
        return clew.multinomial(self.probs.reshape(-1, self._num_events), draws, True).T.reshape(shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        index, log_probs = clew.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        return -(self.logits.clamp(min=clew.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(clew.arange(self._num_events), expand)


class _OfCategorical(Distribution):
    """Distributions over vectors that a categorical distribution of their K classes makes."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _categorical: Categorical

    def _set_categorical(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self._categorical = Categorical(probs, logits)
        Distribution.__init__(
            self, self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args
        )

    @property
    def probs(self) -> Tensor:
        """Probabilities, which sum to 1 along the last axis."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Log-probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._categorical.param_shape


class OneHotCategorical(_OfCategorical):
    """A class as a vector with a 1 in its place and 0 elsewhere; arguments as for `Categorical`.

    >>> import clew
    >>> from clew.distributions import OneHotCategorical
    >>> OneHotCategorical(clew.tensor([0.2, 0.8])).mode
    tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._set_categorical(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _one_hot(self, classes: Tensor) -> Tensor:
        return F.one_hot(classes, self.probs.shape[-1]).to(self.probs.dtype)

    def _sample(self, shape: Size) -> Tensor:
        return self._one_hot(self._categorical._sample(shape[:-1]))

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(clew.eye(self.probs.shape[-1], dtype=self.probs.dtype), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with `rsample`: its gradient passes to `probs` as if the draw were they (Bengio et al. 2013,
    https://arxiv.org/abs/1308.3432)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OfCategorical):
    """How often each class is drawn in `total_count` draws.

    Args:
        total_count: how many draws, one number for the whole batch.
        probs, logits: as for `Categorical`.

    >>> import clew
    >>> from clew.distributions import Multinomial
    >>> Multinomial(4, clew.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    total_count: int

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
        self._set_categorical(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

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
