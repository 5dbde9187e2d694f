"""Whether int64 of a program fits into 32 bits, for a target that may have no wider ones.

What integers may be is followed from kernel to kernel as an interval. An index, a count and a comparison are bounded by
shapes. Of data a bound is unknown: there the caller checks that what it is given lies within `Narrow.limit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .kernels import Kernel, Origin
from .layout import Memory
from .lower import Lowered
from .scalar import FLOATS, Expr, greatest, least

Interval = tuple[int, int]
WIDEST = 2**31 - 1
HALF = 2**30 - 1


@dataclass(frozen=True)
class Narrow:
    """What holds if int64 is computed in 32 bits."""

    limit: int
    """Named inputs of int64 lie within [-limit - 1, limit]."""
    overflow: Origin | None
    """A step whose result may all the same need more bits."""


def narrow(lowered: Lowered) -> Narrow:
    """With as much room for inputs as leaves no step that may overflow: `x + 1` of an int64 input halves it."""
    for limit in (WIDEST, HALF):
        found = _Intervals(limit, lowered).overflow
        if found is None:
            return Narrow(limit, None)
    return Narrow(WIDEST, found)


class _Intervals:
    def __init__(self, limit: int, lowered: Lowered) -> None:
        self.overflow: Origin | None = None
        self.known = {one.memory: (-limit - 1, limit) for one in lowered.named if one.is_input}
        for kernel in lowered.kernels:
            self._enter(kernel)

    def _enter(self, kernel: Kernel) -> None:
        if 0 in kernel.shape:
            return
        value = self._of(kernel, kernel.value, {})
        if kernel.out.dtype != "int64":
            return
        count = math.prod(kernel.shape[axis] for axis in kernel.axes)
        if kernel.combine == "sum":
            value = self._held(kernel, value[0] * count, value[1] * count)
        elif kernel.combine == "prod":
            size = max(map(abs, value))
            size = size if size < 2 or count == 1 else WIDEST + 1 if count > 31 else size**count
            value = self._held(kernel, -size, size)
        elif kernel.combine == "add":
            before, times = self._memory(kernel.out.memory), math.prod(kernel.shape)
            low, high = min(value[0], 0) * times, max(value[1], 0) * times
            value = self._held(kernel, before[0] + low, before[1] + high)
        self.known[kernel.out.memory] = _either(self._memory(kernel.out.memory), value)

    def _memory(self, memory: Memory) -> Interval:
        """0 where nothing was written yet."""
        if memory not in self.known:
            begin = memory.begin()
            self.known[memory] = _in_range(int(begin.min()), int(begin.max())) if begin.size else (0, 0)
        return self.known[memory]

    def _held(self, kernel: Kernel, low: int, high: int) -> Interval:
        """What 32 bits hold of it."""
        if low < -WIDEST - 1 or high > WIDEST:
            self.overflow = self.overflow or kernel.origin
        return _in_range(low, high)

    def _of(self, kernel: Kernel, expr: Expr, known: dict[int, Interval]) -> Interval:
        if id(expr) not in known:
            low, high = self._computed(kernel, expr, known)
            known[id(expr)] = self._held(kernel, low, high) if expr.dtype == "int64" else (low, high)
        return known[id(expr)]

    def _computed(self, kernel: Kernel, expr: Expr, known: dict[int, Interval]) -> Interval:
        args = [self._of(kernel, arg, known) for arg in expr.args]
        if expr.dtype != "int64":  # it has its own bits in any case
            return (0, 0) if expr.dtype in FLOATS else (int(least(expr.dtype)), int(greatest(expr.dtype)))
        if expr.op == "operand":
            return self._memory(kernel.operands[expr.value].memory)
        if expr.op == "constant":
            return _in_range(expr.value, expr.value)  # the target refuses what does not fit
        if expr.op == "index":
            return 0, kernel.shape[expr.value] - 1
        if expr.op == "cast" and expr.args[0].dtype in FLOATS:
            return int(least("int64")), int(greatest("int64"))
        return _result(expr.op, args[1:] if expr.op == "where" else args)


def _result(op: str, args: list[Interval]) -> Interval:
    (a, b), (c, d) = args[0], args[-1]
    if op in ("where", "cast"):
        return _either(args[0], args[-1])
    if op == "add":
        return a + c, b + d
    if op == "sub":
        return a - d, b - c
    if op == "neg":
        return -b, -a
    if op == "mul":
        ends = [a * c, a * d, b * c, b * d]
        return min(ends), max(ends)
    if op.startswith("bit_"):
        return -WIDEST - 1, WIDEST
    size = max(abs(a), abs(b))  # int_div, int_rem
    return -size, size


def _in_range(low: int, high: int) -> Interval:
    return max(min(low, WIDEST), -WIDEST - 1), min(max(high, -WIDEST - 1), WIDEST)


def _either(one: Interval, other: Interval) -> Interval:
    return min(one[0], other[0]), max(one[1], other[1])
