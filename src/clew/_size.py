"""The shape of a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import SupportsIndex, overload

from . import _core


def _is_integer(size: object) -> bool:
    """Whether it is a number of Python, of NumPy or in a tensor that has no fraction."""
    try:
        index(size)  # type: ignore[arg-type]  # that is the question
    except TypeError:
        return False
    return True


class Size(tuple[int, ...]):
    """A tuple of sizes, one for each axis.

    Example:
        >>> shape = torch.ones(2, 3).shape
        >>> shape, shape[-1], shape.numel()
        (torch.Size([2, 3]), 3, 6)
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[SupportsIndex] = (), /) -> Size:
        known = tuple(iterable)
        for place, size in enumerate(known):
            if type(size) is not int and not _is_integer(size):
                raise TypeError(
                    f"torch.Size() takes an iterable of 'int' (item {place} is '{type(size).__name__}'); "
                    "convert it by int(...) first"
                )
        return tuple.__new__(cls, map(index, known))

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"{_core.imported_as()}.Size([{', '.join(map(str, self))}])"

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


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes have together.

    Raises:
        RuntimeError: they do not broadcast.

    Example:
        >>> torch.broadcast_shapes((2, 1), (3,))
        torch.Size([2, 3])
    """
    result: list[int] = []
    for place, shape in enumerate(shapes):
        sizes = [shape] if isinstance(shape, int) else list(shape)
        if any(size < 0 for size in sizes):
            raise ValueError(f"broadcast_shapes: expected sizes of 0 or more, got {tuple(sizes)}")
        result = [1] * (len(sizes) - len(result)) + result
        for axis in range(-len(sizes), 0):
            if result[axis] == 1:
                result[axis] = sizes[axis]
            elif sizes[axis] not in (1, result[axis]):
                raise RuntimeError(
                    f"broadcast_shapes: Attempting to broadcast a dimension of length {sizes[axis]} at {axis}! "
                    f"Mismatching argument at index {place} had {tuple(sizes)}; but expected shape should be "
                    f"broadcastable to {result}"
                )
    return Size(result)


_core.set_size_type(Size)
