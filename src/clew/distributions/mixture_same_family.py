"""Mixtures."""

from __future__ import annotations

from typing import Any, ClassVar

import clew
from clew import Size, Tensor

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of K components of one family.

    Args:
        mixture_distribution: a `Categorical` over the components.
        component_distribution: any distribution; the last axis of its batch, of size K, is that of the components.

    Raises:
        ValueError: what is no `Categorical` or no distribution, or shapes do not fit.

    Example:
        >>> D = torch.distributions
        >>> components = D.Normal(torch.tensor([-1.0, 3.0]), torch.ones(2))
        >>> two = D.MixtureSameFamily(D.Categorical(torch.ones(2)), components)
        >>> two.mean, two.variance
        (tensor(1.), tensor(5.))
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    mixture_distribution: Any
    component_distribution: Any
    support = constraints.dependent_property(
        lambda self: constraints.MixtureSameFamilyConstraint(self._component_distribution.support)
    )
    _formulas: ClassVar = {
        "mixture_distribution": "_mixture_distribution",
        "component_distribution": "_component_distribution",
        "mean": lambda self: self._mixed(self._component_distribution.mean),
    }

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical, "
                f"got {type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution, "
                f"got {type(component_distribution).__name__}"
            )
        mixture, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if any(1 != i != j != 1 for i, j in zip(reversed(mixture), reversed(batch), strict=False)):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixture}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})"
            )
        weights, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if weights != components:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)  # its batch may be smaller than ours
        super()._expand_into(new, batch_shape)

    def _mixed(self, values: Tensor) -> Tensor:
        """The mean over the components of values of shape (..., K, *event_shape)."""
        probs = self._mixture_distribution.probs
        events = len(self._event_shape)
        return (probs.reshape(probs.shape + (1,) * events) * values).sum(-1 - events)

    def _for_each(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        inner = self._component_distribution
        return self._mixed(inner.variance) + self._mixed((inner.mean - self._for_each(self.mean)).pow(2))

    def cdf(self, value: Tensor) -> Tensor:
        return (self._component_distribution.cdf(self._for_each(value)) * self._mixture_distribution.probs).sum(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        inner = self._component_distribution.log_prob(self._for_each(value))
        return (inner + clew.log_softmax(self._mixture_distribution.logits, -1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with clew.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            axis = len(tuple(sample_shape)) + len(self._batch_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (len(self._event_shape) + 1))
            places = chosen.expand((*drawn.shape[:axis], 1, *self._event_shape))
            return drawn.gather(axis, places).squeeze(axis)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
