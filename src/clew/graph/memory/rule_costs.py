"""What the derivative of one node takes and gives, measured by running its rule (Note [Predicting the peak])."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core
from ...ops.creation import empty, empty_strided


class Buffer:
    """The memory of a gradient on its way; it goes when the last gradient that lies in it has gone."""

    __slots__ = ("nbytes", "references")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.references = 0


@dataclass(slots=True)
class Gradient:
    """A gradient without numbers."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    buffer: Buffer | None  # None: memory that is there anyway, such as a view of a saved tensor
    is_view: bool = False

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @property
    def is_alone(self) -> bool:
        """Whether nothing else refers to its memory: the engine may add to it, a rule may write over it."""
        return (
            self.buffer is not None
            and self.buffer.references == 1
            and not self.is_view
            and has_no_gaps(self.shape, self.strides)
        )


@dataclass(slots=True)
class Result:
    """What a rule made for one input: fresh memory (its bytes), an incoming gradient's, or what is there anyway."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    is_view: bool
    source: str
    index: int  # of the incoming gradient, or of the fresh memory
    nbytes: int


@dataclass(slots=True)
class Rule:
    """What was measured of a rule."""

    most: int  # bytes at once, results included
    results: tuple[Result | None, ...]


def measured(node: Any, incoming: Sequence[Gradient | None]) -> Rule:
    """What the rule takes and gives; nothing is computed unless values decide."""
    try:
        return _measured(node, incoming, False)
    except NotImplementedError:
        return _measured(node, incoming, True)


def _measured(node: Any, incoming: Sequence[Gradient | None], compute: bool) -> Rule:
    given = [None if gradient is None else _alike(gradient, compute) for gradient in incoming]
    places = {gradient._storage_id: index for index, gradient in enumerate(given) if gradient is not None}
    # A rule may write over a gradient that it holds alone; what others hold too is held here.
    held = [
        alike for gradient, alike in zip(incoming, given, strict=True) if gradient is not None and not gradient.is_alone
    ]
    kept = {slot.storage for slot in node.saved if slot.storage}
    recording = _core.MemoryTimeline()
    results = _core.run_rule(node, given, compute)
    recording.stop()
    del held
    columns = recording.columns()
    taken, given_back, size = (
        np.frombuffer(columns[name], dtype=np.int64) for name in ("taken_step", "given_step", "bytes")
    )
    steps = np.concatenate([taken, given_back[given_back >= 0]])
    changes = np.concatenate([size, -size[given_back >= 0]])[np.argsort(steps)]
    most = max(0, int(np.cumsum(changes).max())) if len(changes) else 0
    numbers: dict[int, int] = {}
    found: list[Result | None] = []
    for result, (below, _) in zip(results, node.next_functions, strict=True):
        if result is None or below is None:
            found.append(None)
            continue
        storage = result._storage_id
        if storage in places:
            source, index = "incoming", places[storage]
        elif storage in kept:
            source, index = "there", 0
        else:
            source, index = "fresh", numbers.setdefault(storage, len(numbers))
        shape, strides = tuple(result.shape), tuple(result.stride())
        found.append(Result(shape, strides, result.dtype, result._is_view(), source, index, result._storage_nbytes))
    return Rule(most, tuple(found))


def guessed(node: Any) -> Rule:
    """A rule that is not ours to run: fresh gradients, and what hooks unpack in their original size."""
    results: list[Result | None] = []
    most = sum(slot.view_nbytes for slot in node.saved if slot.state == "packed")
    for number, (below, index) in enumerate(node.next_functions):
        if below is None:
            results.append(None)
            continue
        shape, dtype = below.outputs[index]
        nbytes = math.prod(shape) * int(dtype.itemsize)
        most += nbytes
        results.append(Result(tuple(shape), dense(shape), dtype, False, "fresh", number, nbytes))
    return Rule(most, tuple(results))


def _alike(gradient: Gradient, zeros: bool) -> Any:
    """A tensor that lies in memory as the gradient will; of zeros, or untouched."""
    if gradient.is_alone:
        memory = result = empty_strided(gradient.shape, gradient.strides, dtype=gradient.dtype)
    else:
        reach = 1 + sum((size - 1) * stride for size, stride in zip(gradient.shape, gradient.strides, strict=True))
        memory = empty(max(0, reach) if all(gradient.shape) else 0, dtype=gradient.dtype)
        result = memory.as_strided(gradient.shape, gradient.strides)
    if zeros:
        memory.zero_()
    return result


def has_no_gaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a tensor takes each place of a stretch of memory once, in whatever order."""
    expected = 1
    for step, size in sorted((step, size) for step, size in zip(strides, shape, strict=True) if size != 1):
        if step != expected:
            return False
        expected *= size
    return True


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))
