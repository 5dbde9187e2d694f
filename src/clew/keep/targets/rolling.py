"""Kernels that repeat as loops: 1,000 iterations of a rollout are one body, and what differs from one to the next.

Two kernels are alike if they differ only in where their operands lie, and in the values of Python's numbers. `roll`
looks for the run of kernels that saves most, makes it a loop, and goes on inside its body, before and behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from .kernels import Kernel
from .layout import Operand
from .scalar import Expr

Array = numpy.ndarray[Any, Any]

LEAST = 8
"""Kernels that a loop has to save."""
CANDIDATES = 16
"""Periods that are tried for each length of window."""


@dataclass(frozen=True)
class Loop:
    count: int
    period: int
    """Kernels of one iteration."""
    body: tuple[Loop | int, ...]
    """Loops, and the places of kernels, of the first iteration."""


Nodes = tuple[Loop | int, ...]


def roll(kernels: list[Kernel]) -> Nodes:
    known: dict[Any, int] = {}
    symbols = numpy.array([known.setdefault(_signature(one), len(known)) for one in kernels], numpy.int64)
    return _rolled(symbols, 0)


def leaves(nodes: Nodes, axes: tuple[Loop, ...] = ()) -> Iterator[tuple[int, tuple[Loop, ...]]]:
    """Each kernel in C: its place in the first iteration, and the loops around it."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from leaves(node.body, (*axes, node))
        else:
            yield node, axes


def instances(place: int, axes: tuple[Loop, ...]) -> Array:
    """The places of a kernel in all iterations, in the order of time; an axis for each loop."""
    found: Array = numpy.array(place)
    for loop in axes:
        found = found[..., None] + loop.period * numpy.arange(loop.count)
    return found


def _rolled(symbols: Array, start: int) -> Nodes:
    """Of symbols whose first one is the kernel at `start`."""
    run = _best_run(symbols)
    if run is None:
        return tuple(range(start, start + len(symbols)))
    first, period, count = run
    last = first + period * count
    body = _rolled(symbols[first : first + period], start + first)
    before, behind = _rolled(symbols[:first], start), _rolled(symbols[last:], start + last)
    return (*before, Loop(count, period, body), *behind)


def _best_run(symbols: Array) -> tuple[int, int, int] | None:
    """The first place, period and count of the run of iterations that saves the most kernels."""
    best, saved_most = None, LEAST - 1
    for period in _periods(symbols):
        same = numpy.zeros(len(symbols) - period + 2, numpy.int8)
        same[1:-1] = symbols[period:] == symbols[:-period]
        edges = numpy.flatnonzero(numpy.diff(same))
        starts, lengths = edges[::2], edges[1::2] - edges[::2]
        saved = lengths // period * period
        if len(saved) and saved.max() > saved_most:
            i = int(saved.argmax())
            best, saved_most = (int(starts[i]), period, int(saved[i]) // period + 1), int(saved[i])
    return best


def _periods(symbols: Array) -> list[int]:
    """Distances between equal windows of 1, 2, 4, ... symbols: those that cover the most."""
    found: set[int] = set()
    windows, width = symbols, 1
    while 2 * width <= len(symbols):
        order = numpy.argsort(windows, kind="stable")
        equal = windows[order][1:] == windows[order][:-1]
        gaps, counts = numpy.unique(numpy.diff(order)[equal], return_counts=True)
        if not len(gaps):
            break
        found |= set(gaps[numpy.argsort(-gaps * counts, kind="stable")][:CANDIDATES].tolist())
        pairs = windows[:-width] * (windows.max() + 1) + windows[width:]
        windows = numpy.unique(pairs, return_inverse=True)[1]
        width *= 2
    return sorted(period for period in found if 2 * period <= len(symbols))


def _signature(kernel: Kernel) -> tuple[Any, ...]:
    """What alike kernels have in common."""
    values: list[Any] = []
    _describe(kernel.value, values, {})
    operands = tuple(map(_geometry, (kernel.out, *kernel.operands)))
    origin = kernel.origin
    return (kernel.shape, operands, tuple(values), kernel.combine, kernel.axes, origin.op, origin.site, origin.part)


def _geometry(operand: Operand) -> tuple[Any, ...]:
    picks = tuple((_geometry(pick.index), pick.stride, pick.size, pick.wraps) for pick in operand.picks)
    return operand.dtype, operand.memory.stored, operand.strides, picks


def _describe(expr: Expr, into: list[Any], numbers: dict[int, int]) -> int:
    """Appends it to what is described, once; gives its number there."""
    if id(expr) not in numbers:
        args = tuple(_describe(arg, into, numbers) for arg in expr.args)
        numbers[id(expr)] = len(into)
        into.append((expr.op, expr.dtype, args, None if expr.op == "constant" else expr.value))
    return numbers[id(expr)]
