"""Transforms of parts of a tensor, and of its shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import clew
from clew import Size, Tensor

from . import constraints
from ._compound_constraints import expect_axis
from ._transform import Transform
from .utils import sum_rightmost


class _Parts(Transform):
    """Several transforms, one for each part of a tensor along an axis; subclasses cut and join."""

    _arguments: ClassVar[tuple[str, ...]] = ("dim",)

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(one, Transform) for one in tseq):
            raise AssertionError(f"{type(self).__name__}: expected transforms, got {tseq!r}")
        super().__init__(cache_size=cache_size)
        self.transforms = [one.with_cache(cache_size) for one in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _options(self) -> dict[str, Any]:
        return {"tseq": self.transforms, **super()._options()}

    _formulas: ClassVar = {
        "bijective": lambda transforms: all(one.bijective for one in transforms),
    }
    domain = constraints.dependent_property(lambda self: self._space([one.domain for one in self.transforms]))
    codomain = constraints.dependent_property(lambda self: self._space([one.codomain for one in self.transforms]))

    def _space(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _cut(self, x: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([one(part) for one, part in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([one.inv(part) for one, part in zip(self.transforms, self._cut(y), strict=True)])

    def _determinants(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self._cut(x), self._cut(y), strict=True)
        return [one.log_abs_det_jacobian(x_part, y_part) for one, x_part, y_part in parts]


def _expect_size(transform: _Parts, x: Tensor, size: int) -> Tensor:
    expect_axis(type(transform).__name__, x, transform.dim)
    if x.shape[transform.dim] != size:
        raise AssertionError(
            f"{type(transform).__name__}: expected size {size} along axis {transform.dim}, got {x.shape[transform.dim]}"
        )
    return x


class CatTransform(_Parts):
    """Transforms of consecutive parts along the axis `dim`; part i is `lengths[i]` long (by default 1).

    Raises:
        AssertionError: not one length for each transform, or an axis of another size.

    Example:
        >>> D = torch.distributions
        >>> D.CatTransform([D.ExpTransform(), D.AffineTransform(0.0, 10.0)])(torch.tensor([0.0, 1.0]))
        tensor([ 1., 10.])
    """

    length: int
    _formulas: ClassVar = {
        "event_dim": lambda transforms: max(one.event_dim for one in transforms),
        "length": lambda lengths: sum(lengths),
        "_space": lambda parts, dim, lengths: constraints.cat(parts, dim, lengths),
        "_cut": lambda x, self: _expect_size(self, x, self.length).split(self.lengths, self.dim),
        "_joined": lambda parts, dim: clew.cat(parts, dim=dim),
    }

    _arguments: ClassVar = ("dim", "lengths")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)}): one for each"
            )

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = self._determinants(x, y)
        found = [sum_rightmost(d, self.event_dim - t.event_dim) for d, t in zip(found, self.transforms, strict=True)]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return clew.cat(found, dim=dim) if dim < 0 else sum(found[1:], found[0])


class StackTransform(_Parts):
    """Transforms of the positions along the axis `dim`, one for each.

    Example:
        >>> D = torch.distributions
        >>> D.StackTransform([D.ExpTransform(), D.AffineTransform(0.0, 10.0)], dim=1)(torch.tensor([[0.0, 1.0]]))
        tensor([[ 1., 10.]])
    """

    _formulas: ClassVar = {
        "_space": lambda parts, dim: constraints.stack(parts, dim),
        "_cut": lambda x, self: _expect_size(self, x, len(self.transforms)).unbind(self.dim),
        "_joined": lambda parts, dim: clew.stack(parts, dim=dim),
        "log_abs_det_jacobian": lambda x, y, self: clew.stack(self._determinants(x, y), dim=self.dim),
    }


class ReshapeTransform(Transform):
    """Reshapes events from `in_shape` to `out_shape`; the batch stays.

    Raises:
        ValueError: the shapes have different numbers of elements, or the input another shape.

    Example:
        >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.arange(4.0))
        tensor([[0., 1.],
                [2., 3.]])
    """

    bijective = True

    _arguments: ClassVar = ("in_shape", "out_shape")

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(f"in_shape, out_shape have different numbers of elements: {in_shape} and {out_shape}")
        super().__init__(cache_size=cache_size)

    domain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(constraints.real, len(self.out_shape))
    )

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.out_shape, self.in_shape)

    @staticmethod
    def _exchanged(shape: Any, old: Size, new: Size) -> Any:
        if len(shape) < len(old):
            raise ValueError(f"Too few dimensions on input: expected at least {len(old)}, got {len(shape)}")
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {old} but got {shape[cut:]}")
        return shape[:cut] + new
