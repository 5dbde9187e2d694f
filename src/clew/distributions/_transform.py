"""The base of transforms; one after the other, over more axes, and inverted."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import clew
from clew import Tensor

from . import constraints
from .constraints import Constraint
from .utils import Formulas, lazy_property, sum_rightmost


class Transform(Formulas):
    """A function y = f(x) with an inverse (or a right inverse, where it is not bijective).

    Subclasses define `domain`, `codomain`, `bijective`, `_call`, `_inverse` and `log_abs_det_jacobian`. The last axes
    that `domain` and `codomain` call an event are transformed together; the others are a batch.

    Args:
        cache_size: 1 keeps the last pair (x, y), so that the inverse of what was just computed costs nothing and is
            exact.

    Example:
        >>> transform = torch.distributions.ExpTransform()
        >>> y = transform(torch.tensor(0.0))
        >>> transform.inv(y), transform.log_abs_det_jacobian(torch.tensor(0.0), y)
        (tensor(0.), tensor(0.))
    """

    bijective: ClassVar[Any] = False
    domain: ClassVar[Any]
    codomain: ClassVar[Any]
    _arguments: ClassVar[tuple[str, ...]] = ()  # of the constructor, which are attributes

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many axes on the right make up an event, where the two sides agree."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse; its inverse is this object."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    def _sign(self) -> Any:
        """1 if it increases, -1 if it decreases; NotImplementedError if it is neither or not of one variable."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    sign: ClassVar[Any] = property(_sign)

    def _options(self) -> dict[str, Any]:
        """What the constructor has to be given to make this transform again."""
        if not self._arguments and type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return {name: getattr(self, name) for name in self._arguments}

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform with another cache."""
        return self if self._cache_size == cache_size else type(self)(**self._options(), cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        old_x, old_y = self._cached_x_y
        if self._cache_size and x is old_x:
            return old_y
        y = self._call(x)
        if self._cache_size:
            self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        old_x, old_y = self._cached_x_y
        if self._cache_size and y is old_y:
            return old_x
        x = self._inverse(y)
        if self._cache_size:
            self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx| of each event, given x and y = f(x)."""
        raise NotImplementedError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of y for x of a shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of x for y of a shape."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform, to which it leaves everything."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    domain: ClassVar = constraints.dependent_property(lambda self: self._inv.codomain, is_discrete=False)
    codomain: ClassVar = constraints.dependent_property(lambda self: self._inv.domain, is_discrete=False)
    _formulas: ClassVar = {
        "bijective": "_inv.bijective",
        "sign": "_inv.sign",
        "__call__": lambda x, _inv: _inv._inv_call(x),
        "log_abs_det_jacobian": lambda x, y, _inv: -_inv.log_abs_det_jacobian(y, x),
        "forward_shape": lambda shape, _inv: _inv.inverse_shape(shape),
        "inverse_shape": lambda shape, _inv: _inv.forward_shape(shape),
    }

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


# -------------------------------------------------------------------------------------------- made of other transforms
def widened(constraint: Constraint, event_dim: int) -> Constraint:
    """The constraint with as many axes in an event."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


class ComposeTransform(Transform):
    """Several transforms, applied one after the other.

    Example:
        >>> D = torch.distributions
        >>> D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.ExpTransform()])(torch.tensor(0.0))
        tensor(1.)
    """

    _arguments = ("parts",)

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts
        super().__init__(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    # An event of the whole has the axes that any part needs, counted where that part stands.
    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dim = max(dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return widened(self.parts[0].domain, dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        dim = self.parts[0].domain.event_dim
        for part in self.parts:
            dim = max(dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return widened(self.parts[-1].codomain, dim)

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return math.prod(part.sign for part in self.parts)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return clew.zeros_like(x)
        total: Any = 0
        dim = self.domain.event_dim
        for part in self.parts:
            after = y if part is self.parts[-1] else part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, after), dim - part.domain.event_dim)
            dim += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform: Transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose events take in more axes of the batch: Jacobian determinants are summed over them.

    Example:
        >>> transform = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
        >>> x = torch.tensor([1.0, 2.0])
        >>> transform.log_abs_det_jacobian(x, transform(x))
        tensor(3.)
    """

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    domain = constraints.dependent_property(lambda self: self._widened(self.base_transform.domain), is_discrete=False)
    codomain = constraints.dependent_property(
        lambda self: self._widened(self.base_transform.codomain), is_discrete=False
    )
    _formulas: ClassVar = {
        "bijective": "base_transform.bijective",
        "sign": "base_transform.sign",
        "forward_shape": lambda shape, base_transform: base_transform.forward_shape(shape),
        "inverse_shape": lambda shape, base_transform: base_transform.inverse_shape(shape),
    }

    def _widened(self, constraint: Constraint) -> Constraint:
        return constraints.independent(constraint, self.reinterpreted_batch_ndims)

    def _call(self, x: Tensor) -> Tensor:
        return self._applied(self.base_transform, x, self.domain)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._applied(self.base_transform.inv, y, self.codomain)

    @staticmethod
    def _applied(transform: Transform, x: Tensor, space: Constraint) -> Tensor:
        if x.dim() < space.event_dim:
            raise ValueError(f"Too few dimensions on input: expected at least {space.event_dim}, got {x.dim()}")
        return transform(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"
