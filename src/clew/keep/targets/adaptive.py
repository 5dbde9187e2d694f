"""Adaptive mean pooling: place i of m sees the elements from floor(i n / m) up to ceil((i + 1) n / m)."""

from __future__ import annotations

from collections.abc import Callable

from .kernels import Builder, loop_index
from .layout import Operand
from .scalar import Expr, call, constant, where
from .table import Call, lowers


def _bounds(place: Expr, size: int, count: int) -> tuple[Expr, Expr]:
    begin = call("int_div", place * size, count)
    return begin, call("int_div", (place + 1) * size + (count - 1), count)


def _share(small: Operand, large: Operand, axes: int) -> Callable[[Expr], Expr]:
    """What an element of one gives to one of the other; loops go over the axes of small, then the last of large."""
    lead = small.rank - axes

    def share(x: Expr) -> Expr:
        inside, count = constant(True, "bool"), constant(1, "int64")
        for i in range(axes):
            begin, end = _bounds(loop_index(lead + i), large.shape[lead + i], small.shape[lead + i])
            here = loop_index(small.rank + i)
            inside, count = inside & (here >= begin) & (here < end), count * (end - begin)
        return where(inside, x / count.cast(x.dtype), 0)

    return share


def _beside(small: Operand, large: Operand, axes: int) -> tuple[Operand, Operand]:
    lead = small.rank - axes
    return small.inserted(*range(small.rank, small.rank + axes)), large.inserted(*range(lead, small.rank))


@lowers(*(f"adaptive_avg_pool{axes}d" for axes in (1, 2, 3)))
def _pool(k: Builder, step: Call) -> None:
    x, out, axes = step.input(0), step.out, int(step.op[-2])
    small, large = _beside(out, x, axes)
    k.reduce(small, "sum", _share(out, x, axes), large)


@lowers(*(f"_adaptive_avg_pool{axes}d_gradient" for axes in (1, 2, 3)))
def _pool_gradient(k: Builder, step: Call) -> None:
    g, out, axes = step.input(0), step.out, int(step.op.split("pool")[1][0])
    small, large = _beside(g, out, axes)
    k.reduce(large, "sum", _share(g, out, axes), small)
