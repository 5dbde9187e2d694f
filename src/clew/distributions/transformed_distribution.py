"""Distributions of transformed draws, and of groups of draws."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import clew
from clew import Size, Tensor

from . import constraints
from .distribution import Distribution
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["Independent", "TransformedDistribution"]


class Independent(Distribution):
    """A distribution whose last axes of the batch become part of the event: `log_prob` is summed over them.

    Args:
        base_distribution: any distribution.
        reinterpreted_batch_ndims: how many axes.

    Raises:
        ValueError: the batch has fewer axes.

    Example:
        >>> normal = torch.distributions.Normal(torch.zeros(2, 3), torch.ones(2, 3))
        >>> diagonal = torch.distributions.Independent(normal, 1)
        >>> diagonal.batch_shape, diagonal.event_shape
        (torch.Size([2]), torch.Size([3]))
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    _formulas: ClassVar = {
        **{name: f"base_dist.{name}" for name in ("mean", "mode", "variance", "has_rsample")},
        "has_enumerate_support": lambda reinterpreted_batch_ndims, base_dist: (
            reinterpreted_batch_ndims == 0 and base_dist.has_enumerate_support
        ),
    }

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        cut = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        inner = self.base_dist.support
        return (
            constraints.independent(inner, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else inner
        )

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of f(x), with x from a base distribution and f a transform or a list of them.

    log_prob(y) = base.log_prob(x) - log |dy/dx| at x = f^-1(y).

    Args:
        base_distribution: any distribution; it is expanded and its batch's axes become part of the event as the
            transforms need it.
        transforms: a `Transform`, or a list of them, which are applied in order.

    Raises:
        ValueError: what is no transform, or a base with fewer axes than the transforms need.

    Example:
        >>> D = torch.distributions
        >>> uniform = D.Uniform(torch.zeros(1), torch.ones(1))
        >>> logistic = D.TransformedDistribution(uniform, [D.SigmoidTransform().inv, D.AffineTransform(2.0, 1.0)])
        >>> logistic.log_prob(torch.tensor([2.0]))
        tensor([-1.3863])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    _formulas: ClassVar = {"has_rsample": "base_dist.has_rsample"}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms: list[Transform] = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(one, Transform) for one in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        whole = ComposeTransform(self.transforms)
        inside, outside = whole.domain.event_dim, whole.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dim = len(base_distribution.event_shape)
        if len(base_shape) < inside:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {inside}, but got {base_shape}."
            )
        shape = whole.forward_shape(base_shape)
        needed = whole.inverse_shape(shape)
        if base_shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_dim])
        if inside > base_dim:
            base_distribution = Independent(base_distribution, inside - base_dim)
        self.base_dist = base_distribution
        cut = len(shape) - max(outside, base_dim + outside - inside)
        super().__init__(Size(shape[:cut]), Size(shape[cut:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new = self._get_checked_instance(self._own_class(), _instance)
        batch_shape = Size(tuple(batch_shape))
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        self._expand_into(new, batch_shape)
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self.event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with clew.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        dim = len(self.event_shape)
        total: Any = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            dim += transform.domain.event_dim - transform.codomain.event_dim
            found = transform.log_abs_det_jacobian(before, value)
            total = total - sum_rightmost(found, dim - transform.domain.event_dim)
            value = before
        inner = self.base_dist.log_prob(value)
        return total + sum_rightmost(inner, dim - len(self.base_dist.event_shape))

    def _mirrored(self, probability: Tensor) -> Tensor:
        """1 - probability where the transforms decrease."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`: that of the base at the inverse transforms of it."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._mirrored(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`: the transforms of the base's quantile."""
        return self._transformed(self.base_dist.icdf(self._mirrored(value)))
