"""Sets of values: what a parameter may be, and where a distribution puts its mass.

A constraint is an object with `check(value)`, which says for each event whether it lies in the set. `event_dim` is the
number of axes on the right that make up one event, `is_discrete` says whether the set is countable.

Example:
    >>> torch.distributions.constraints.interval(0, 1).check(torch.tensor([-1.0, 0.5]))
    tensor([False,  True])
    >>> torch.distributions.constraints.positive
    GreaterThan(lower_bound=0.0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

import clew
from clew import Tensor
from clew._samples import all_true

from ._compound_constraints import Constraint, MixtureSameFamilyConstraint, _Cat, _Independent, _Stack

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


# ----------------------------------------------------------------------------------------- sets known only with values
class _Dependent(Constraint):
    """A set that depends on other parameters, so that nothing can be said of it beforehand."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return _known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self) -> int:
        return _known(self._event_dim, "event_dim")

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with what is known of it."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def _known(value: Any, name: str) -> Any:
    if value is NotImplemented:
        raise NotImplementedError(f".{name} cannot be determined statically")
    return value


def is_dependent(constraint: Any) -> bool:
    """Whether it is a set that depends on other parameters.

    Example:
        >>> constraints = torch.distributions.constraints
        >>> constraints.is_dependent(constraints.positive), constraints.is_dependent(constraints.dependent)
        (False, True)
    """
    return isinstance(constraint, _Dependent)


class dependent_property(property, _Dependent):
    """A property whose value is a constraint; read from the class, it is a dependent constraint.

    Args:
        is_discrete, event_dim: what is known of it beforehand.

    Example:
        >>> class Above:
        ...     low = 2.0
        ...     @torch.distributions.constraints.dependent_property(is_discrete=False, event_dim=0)
        ...     def support(self):
        ...         return torch.distributions.constraints.greater_than(self.low)
        >>> Above().support.check(torch.tensor([1.0, 3.0]))
        tensor([False,  True])
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> dependent_property:  # type: ignore[override]
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


_DependentProperty = dependent_property


def depending(fn: Callable[[Any], Any], *, is_discrete: bool = False, event_dim: int = 0) -> Any:
    """A set that an object's attributes give; `dependent_property` with what most of the package needs."""
    return dependent_property(fn, is_discrete=is_discrete, event_dim=event_dim)


# ------------------------------------------------------------------------------------------------ comparison by number
class _Bounded(Constraint):
    """Numbers that compare with bounds in given ways, and are whole where the set is discrete."""

    bounds: ClassVar[dict[str, Callable[[Any, Any], Any]]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(self.bounds, args, strict=False)) | kwargs
        if len(args) + len(kwargs) != len(self.bounds) or given.keys() != self.bounds.keys():
            raise TypeError(f"{type(self).__name__[1:]}: expected {', '.join(self.bounds)}, got {args} and {kwargs}")
        self.__dict__.update(given)
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        valid: Any = value % 1 == 0 if self.is_discrete else None
        for name, compare in self.bounds.items():
            one = compare(value, getattr(self, name))
            valid = one if valid is None else valid & one
        return valid

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self.bounds)})"


_SYMBOLS: dict[Any, str] = {operator.ge: ">=", operator.gt: ">", operator.le: "<=", operator.lt: "<"}


def _bounded(name: str, is_discrete: bool = False, **bounds: Callable[[Any, Any], Any]) -> type[_Bounded]:
    limits = " and ".join(f"{_SYMBOLS[compare]} {bound}" for bound, compare in bounds.items())
    text = f"{'Integers' if is_discrete else 'Numbers'} {limits}."
    members = {"bounds": bounds, "is_discrete": is_discrete, "__module__": __name__, "__doc__": text}
    return type(name, (_Bounded,), members)


_IntegerInterval = _bounded("_IntegerInterval", True, lower_bound=operator.ge, upper_bound=operator.le)
_IntegerGreaterThan = _bounded("_IntegerGreaterThan", True, lower_bound=operator.ge)
_IntegerLessThan = _bounded("_IntegerLessThan", True, upper_bound=operator.le)
_GreaterThan = _bounded("_GreaterThan", lower_bound=operator.gt)
_GreaterThanEq = _bounded("_GreaterThanEq", lower_bound=operator.ge)
_LessThan = _bounded("_LessThan", upper_bound=operator.lt)
_Interval = _bounded("_Interval", lower_bound=operator.ge, upper_bound=operator.le)
_HalfOpenInterval = _bounded("_HalfOpenInterval", lower_bound=operator.ge, upper_bound=operator.lt)


# ------------------------------------------------------------------------------------------------------- by predicates
def _where(
    name: str, check: Callable[[Tensor], Tensor], is_discrete: bool = False, event_dim: int = 0
) -> type[Constraint]:
    """A class of constraints without parameters."""
    members = {"is_discrete": is_discrete, "event_dim": event_dim, "__module__": __name__}
    return type(name, (Constraint,), {"check": lambda self, value: check(value), **members})


_Real = _where("_Real", lambda value: value == value)  # all but NaN
_Boolean = _where("_Boolean", lambda value: (value == 0) | (value == 1), is_discrete=True)
_OneHot = _where(
    "_OneHot", lambda value: ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1), is_discrete=True, event_dim=1
)
_Simplex = _where("_Simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1)


# --------------------------------------------------------------------------------------------------- vectors, matrices
class _Multinomial(Constraint):
    """Counts along the last axis that are not negative and sum to at most `upper_bound`.

    Example:
        >>> torch.distributions.constraints.multinomial(2).check(torch.tensor([[1.0, 1.0], [3.0, 0.0]]))
        tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: their rows have length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = clew.finfo(value.dtype).eps * value.shape[-1] * 10
        lengths = value.detach().norm(dim=-1)
        return super().check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return clew.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=clew.bool)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        return clew.isclose(value, value.mT, atol=1e-6).all(-1).all(-1) if all_true(square) else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return (clew.linalg.eigvalsh(value) >= 0).all(-1) if all_true(symmetric) else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return clew.linalg.cholesky_ex(value).info == 0 if all_true(symmetric) else symmetric


dependent = _Dependent()
independent = _IndependentConstraint = _Independent
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
