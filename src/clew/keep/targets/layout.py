"""Where elements lie: geometry over memories of one dtype, as index arithmetic.

A view is another `Operand` over the same memory, so no target needs an operation for views.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy

from .errors import Unsupported


@dataclass(eq=False)
class Memory:
    """`size` elements of one dtype, in a row."""

    dtype: str
    size: int
    values: Any = None
    """What it holds at the start, as a NumPy array; None: nothing that anybody reads."""
    number: float | int | bool | None = None
    """Of a Python number that stands in the program."""
    name: str | None = None
    stored: str | None = None
    """As what a target stores it, if not as its dtype."""

    def begin(self) -> Any:
        """Its values, or zeros."""
        return numpy.zeros(self.size, self.dtype) if self.values is None else self.values


@dataclass(frozen=True)
class Pick:
    """An axis along which `index` says which element is meant, at each place of the loops."""

    index: Operand
    stride: int
    size: int
    wraps: bool
    """Whether -1 is the last one."""


@dataclass(frozen=True)
class Operand:
    """Elements of a memory: element (i, j, ...) lies at offset + i * strides[0] + j * strides[1] + ..."""

    memory: Memory
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    picks: tuple[Pick, ...] = ()

    @property
    def dtype(self) -> str:
        return self.memory.dtype

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def is_contiguous(self) -> bool:
        return self.numel == 0 or all(
            size == 1 or stride == expected
            for size, stride, expected in zip(self.shape, self.strides, row_major(self.shape), strict=True)
        )

    def is_whole(self) -> bool:
        """Whether it is all of its memory, in order."""
        return self.is_contiguous() and self.numel == self.memory.size and self.offset == 0 and not self.picks

    def same_place(self, other: Operand) -> bool:
        return (self.memory, self.shape, self.strides, self.offset, self.picks) == (
            other.memory,
            other.shape,
            other.strides,
            other.offset,
            other.picks,
        )

    def permuted(self, order: tuple[int, ...]) -> Operand:
        return replace(self, shape=tuple(self.shape[i] for i in order), strides=tuple(self.strides[i] for i in order))

    def moved(self, axis: int, to: int) -> Operand:
        order = [i for i in range(self.rank) if i != axis % self.rank]
        order.insert(to % self.rank, axis % self.rank)
        return self.permuted(tuple(order))

    def expanded(self, shape: tuple[int, ...]) -> Operand:
        """Broadcast to `shape`, aligned at the last axis."""
        lead = len(shape) - self.rank
        strides = (0,) * lead + self.strides
        sizes = (1,) * lead + self.shape
        return replace(
            self,
            shape=shape,
            strides=tuple(0 if size == 1 else stride for stride, size in zip(strides, sizes, strict=True)),
        )

    def expanded_rank(self, rank: int) -> Operand:
        """With axes of size 1 in front, `rank` in all."""
        return self.inserted(*range(rank - self.rank))

    def inserted(self, *axes: int) -> Operand:
        """With axes of size 1 at these places of the result."""
        shape, strides = list(self.shape), list(self.strides)
        for axis in sorted(axes):
            shape.insert(axis, 1)
            strides.insert(axis, 0)
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    def sliced(self, axis: int, start: int, length: int, step: int = 1) -> Operand:
        shape, strides = list(self.shape), list(self.strides)
        shape[axis], strides[axis] = length, strides[axis] * step
        return replace(
            self, shape=tuple(shape), strides=tuple(strides), offset=self.offset + start * self.strides[axis]
        )

    def flipped(self, axis: int) -> Operand:
        return self.sliced(axis, max(self.shape[axis] - 1, 0), self.shape[axis], -1)

    def without(self, axis: int) -> Operand:
        """Element 0 along the axis, which is dropped."""
        return replace(
            self,
            shape=self.shape[:axis] + self.shape[axis + 1 :],
            strides=self.strides[:axis] + self.strides[axis + 1 :],
        )

    def windows(self, axis: int, count: int, size: int, stride: int, dilation: int) -> Operand:
        """The axis becomes `count` places of a window; one of `size` elements comes last."""
        step = self.strides[axis]
        shape, strides = list(self.shape), list(self.strides)
        shape[axis], strides[axis] = count, step * stride
        return replace(self, shape=(*shape, size), strides=(*strides, step * dilation))

    def reshaped(self, shape: tuple[int, ...]) -> Operand:
        if not self.is_contiguous():
            raise Unsupported("of a result that is not contiguous")
        return replace(self, shape=shape, strides=row_major(shape))

    def split(self, axis: int, sizes: tuple[int, ...]) -> Operand:
        """The axis becomes several, of which the last is the fastest."""
        strides = tuple(self.strides[axis] * stride for stride in row_major(sizes))
        return replace(
            self,
            shape=self.shape[:axis] + sizes + self.shape[axis + 1 :],
            strides=self.strides[:axis] + strides + self.strides[axis + 1 :],
        )

    def picked(self, axis: int, index: Operand, wraps: bool = False) -> Operand:
        """Along the axis, what `index` says. The axis stays, for `index` to go along it or to be broadcast."""
        strides = list(self.strides)
        pick = Pick(index, strides[axis], self.shape[axis], wraps)
        strides[axis] = 0
        return replace(self, strides=tuple(strides), picks=(*self.picks, pick))

    def chosen(self, axis: int, index: Operand, wraps: bool = False) -> Operand:
        """Along the axis, which goes, the element that `index` says at each place of the other axes."""
        return self.picked(axis, index, wraps).without(axis)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def whole(memory: Memory, shape: tuple[int, ...]) -> Operand:
    return Operand(memory, shape, row_major(shape))


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True))
