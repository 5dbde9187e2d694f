"""The shape of a tensor."""

from __future__ import annotations

import math
from typing import SupportsIndex, overload

from . import _core


class Size(tuple[int, ...]):
    """A tuple of sizes, one for each axis.

    >>> import clew
    >>> shape = clew.ones(2, 3).shape
    >>> shape, shape[-1], shape.numel()
    (torch.Size([2, 3]), 3, 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: SupportsIndex | slice) -> int | Size:
        part = tuple.__getitem__(self, key)
        return Size(part) if isinstance(part, tuple) else part

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(other + tuple(self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__


_core.set_size_type(Size)
