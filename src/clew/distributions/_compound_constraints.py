"""The base of constraints; sets that are made of other sets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import clew
from clew import Tensor


class Constraint:
    """A set of values; subclasses define `check`.

    Example:
        >>> constraint = torch.distributions.constraints.unit_interval
        >>> isinstance(constraint, torch.distributions.constraints.Constraint)
        True
        >>> constraint.check(torch.tensor([0.5, 2.0]))
        tensor([ True, False])
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """A bool tensor of shape `sample_shape + batch_shape`: whether each event lies in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__[1:] + "()"


class _Independent(Constraint):
    """Tensors whose elements along the last axes all satisfy the base constraint: those axes are the event.

    Raises:
        AssertionError: the number of axes is negative.
        ValueError: from `check`, a tensor with fewer axes.

    Example:
        >>> constraints = torch.distributions.constraints
        >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1.0, 2.0], [1.0, -2.0]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        _expect_constraints("independent", [base_constraint])
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be an int >= 0, got {reinterpreted_batch_ndims!r}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim) + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_but_first(result, result.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What lies in the supports of all components of a mixture; `base_constraint` has one more axis, for them.

    Example:
        >>> positive = torch.distributions.constraints.positive
        >>> both = torch.distributions.constraints.MixtureSameFamilyConstraint(positive)
        >>> both.check(torch.tensor([1.0, -1.0]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        _expect_constraints("MixtureSameFamilyConstraint", [base_constraint])
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return _all_but_first(result, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


def _all_but_first(valid: Tensor, dims: int) -> Tensor:
    return valid.reshape((*valid.shape[:dims], -1)).all(-1)


def _expect_constraints(name: str, given: Sequence[Any]) -> None:
    wrong = [one for one in given if not isinstance(one, Constraint)]
    if wrong:
        raise AssertionError(f"{name}: expected constraints, base_constraint must be a Constraint, got {wrong[0]!r}")


class _Parts(Constraint):
    """Several sets, one for each part of a tensor along an axis."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        _expect_constraints(type(self).__name__[1:].lower(), cseq)
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return any(one.is_discrete for one in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(int(one.event_dim) for one in self.cseq)


def expect_axis(name: str, value: Tensor, dim: int) -> None:
    """Raises if the tensor has no such axis."""
    if not -value.dim() <= dim < value.dim():
        raise AssertionError(f"{name}: expected a tensor with an axis {dim}, got one of {value.dim()} axes")


class _Cat(_Parts):
    """A constraint for each of several parts along an axis, of the given lengths.

    Raises:
        AssertionError: not one length for each constraint, or a tensor without the axis.

    Example:
        >>> constraints = torch.distributions.constraints
        >>> parts = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
        >>> parts.check(torch.tensor([-1.0, -1.0, 1.0]))
        tensor([False,  True,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"cat: expected {len(self.cseq)} lengths, one for each constraint, got {self.lengths}")

    def check(self, value: Tensor) -> Tensor:
        expect_axis("cat", value, self.dim)
        starts = itertools.accumulate(self.lengths, initial=0)
        parts = [value.narrow(self.dim, start, size) for start, size in zip(starts, self.lengths, strict=False)]
        return clew.cat([one.check(part) for one, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Parts):
    """A constraint for each index of an axis.

    Example:
        >>> constraints = torch.distributions.constraints
        >>> constraints.stack([constraints.positive, constraints.real]).check(torch.tensor([[-1.0, 1.0], [-1.0, 1.0]]))
        tensor([[False,  True],
                [ True,  True]])
    """

    @property
    def event_dim(self) -> int:
        dim = super().event_dim
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        expect_axis("stack", value, self.dim)
        parts = value.unbind(self.dim)
        return clew.stack([one.check(part) for one, part in zip(self.cseq, parts, strict=False)], self.dim)
