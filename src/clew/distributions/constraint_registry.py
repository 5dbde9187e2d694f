"""Transforms from unconstrained numbers to constrained ones.

`biject_to(constraint)` gives a bijection, `transform_to(constraint)` a map onto the set that is fast and stable but
may not be injective: for optimising parameters.

Example:
    >>> torch.distributions.transform_to(torch.distributions.constraints.positive)(torch.tensor(0.0))
    tensor(1.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .utils import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

_Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """From constraints to transforms, by the constraint's class.

    Example:
        >>> registry = torch.distributions.constraint_registry.biject_to
        >>> registry(torch.distributions.constraints.positive)(torch.tensor(0.0))
        tensor(1.)
    """

    def __init__(self) -> None:
        self._registry: dict[type, _Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Enter a factory that makes a transform for a constraint; without `factory` a decorator of one.

        Args:
            constraint: a subclass of `Constraint`, or an instance that stands for its class.

        Raises:
            TypeError: it is neither.
        """
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform onto the constraint's set.

        Raises:
            NotImplementedError: none was registered for its class.
        """
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _exponential(offset: str, sign: int) -> _Factory:
    return lambda constraint: transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(getattr(constraint, offset), sign)]
    )


def _to_interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if is_number(low) and low == 0 and is_number(high) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


# Sets that both registries map to by the same transform. (`positive` is a `greater_than`.)
for _constraint, _factory in {
    constraints.real: lambda constraint: transforms.identity_transform,
    constraints.greater_than: _exponential("lower_bound", 1),
    constraints.greater_than_eq: _exponential("lower_bound", 1),
    constraints.less_than: _exponential("upper_bound", -1),
    constraints.interval: _to_interval,
    constraints.half_open_interval: _to_interval,
    constraints.corr_cholesky: lambda constraint: transforms.CorrCholeskyTransform(),
}.items():
    biject_to.register(_constraint, _factory)
    transform_to.register(_constraint, _factory)

biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda constraint: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda constraint: transforms.PositiveDefiniteTransform())


def _register_parts(registry: ConstraintRegistry) -> None:
    """Sets made of other sets: transforms made of their transforms."""

    @registry.register(constraints.independent)  # type: ignore[untyped-decorator]
    def _independent(constraint: Any) -> transforms.Transform:
        inner = registry(constraint.base_constraint)
        return transforms.IndependentTransform(inner, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)  # type: ignore[untyped-decorator]
    def _cat(constraint: Any) -> transforms.Transform:
        return transforms.CatTransform([registry(one) for one in constraint.cseq], constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)  # type: ignore[untyped-decorator]
    def _stack(constraint: Any) -> transforms.Transform:
        return transforms.StackTransform([registry(one) for one in constraint.cseq], constraint.dim)


_register_parts(biject_to)
_register_parts(transform_to)
