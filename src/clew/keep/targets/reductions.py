"""Sums, means, extremes, norms, softmax: reductions and what is made of them."""

from __future__ import annotations

import math
from typing import Any

from .errors import Unsupported
from .kernels import Builder, loop_index
from .layout import Operand
from .scalar import Expr, call, constant, is_nan, where
from .table import Call, lowers


def over_axes(k: Builder, step: Call, combine: str, formula: Any, *, dtype: str | None = None) -> tuple[Operand, int]:
    """Reduces the first input to the first output; gives the latter with all axes, and how many went into each."""
    x = step.input(0)
    axes = step.axes(x.rank)
    out = step.kept(step.out, axes, x.rank)
    k.reduce(out, combine, formula, x, dtype=dtype)
    return out, math.prod(x.shape[axis] for axis in axes)


def same(x: Expr) -> Expr:
    return x


@lowers("sum")
def _sum(k: Builder, step: Call) -> None:
    over_axes(k, step, "sum", same)


@lowers("mean")
def _mean(k: Builder, step: Call) -> None:
    out, count = over_axes(k, step, "sum", same)
    k.assign(out, lambda x: x / count, out)


@lowers("prod")
def _prod(k: Builder, step: Call) -> None:
    over_axes(k, step, "prod", same)


@lowers("amax", "amin")
def _extreme(k: Builder, step: Call) -> None:
    over_axes(k, step, step.op[1:], same)


@lowers("any", "all")
def _logical(k: Builder, step: Call) -> None:
    over_axes(k, step, "max" if step.op == "any" else "min", lambda x: x.cast("bool"))


@lowers("count_nonzero")
def _count(k: Builder, step: Call) -> None:
    over_axes(k, step, "sum", lambda x: x.cast("int64"), dtype="bool")


@lowers("max", "min")
def _extreme_with_index(k: Builder, step: Call) -> None:
    if len(step.inputs) == 2:
        raise Unsupported("of two tensors")
    if len(step.outputs) == 1:
        over_axes(k, step, step.op, same)
        return
    x, (values, indices) = step.input(0), step.outputs
    assert values is not None
    assert indices is not None
    axes = step.axes(x.rank)
    values, indices = step.kept(values, axes, x.rank), step.kept(indices, axes, x.rank)
    _index_of_extreme(k, step.op, x, indices, axes)
    axis = axes[0] if axes else 0
    k.copy(values, x.picked(axis, indices).sliced(axis, 0, 1) if axes else x)


@lowers("argmax", "argmin")
def _argument(k: Builder, step: Call) -> None:
    x = step.input(0)
    axes = step.axes(x.rank)
    _index_of_extreme(k, step.op[3:], x, step.kept(step.out, axes, x.rank), axes)


def _index_of_extreme(k: Builder, which: str, x: Operand, out: Operand, axes: tuple[int, ...]) -> None:
    """The first place, row by row, of the greatest or least; NaN is greater and less than all."""
    extreme = k.temp(out.shape, x.dtype)
    k.reduce(extreme, which, same, x)
    first_equal(k, out, x, extreme, [(axis, x.shape[axis]) for axis in axes])


def first_equal(k: Builder, out: Operand, x: Operand, value: Operand, axes: list[tuple[int, int]]) -> None:
    """The least index, counted over `axes` (axis, size), where x equals value."""

    def place(x: Expr, value: Expr) -> Expr:
        index = constant(0, "int64")
        for axis, size in axes:
            index = index * size + loop_index(axis)
        behind = math.prod(size for _, size in axes)
        return where(x.equals(value) | (is_nan(x) & is_nan(value)), index, behind)

    k.reduce(out, "min", place, x, value, raw=(0, 1))


@lowers("cumsum", "_cumsum_from_the_end")
def _cumsum(k: Builder, step: Call) -> None:
    x = step.input(0)
    if x.rank == 0:
        return k.copy(step.out, x)
    axis = step.attributes["dim"] % x.rank
    spread = x.inserted(axis + 1).moved(axis, axis + 1)
    from_end = step.op != "cumsum"

    def part(x: Expr) -> Expr:
        here, there = loop_index(axis), loop_index(axis + 1)
        return where(there >= here if from_end else there <= here, x, 0)

    k.reduce(step.out.inserted(axis + 1), "sum", part, spread)
    return None


def moments(k: Builder, x: Operand, axes: tuple[int, ...]) -> tuple[Operand, Operand, int]:
    """Mean and mean square of the deviation along the axes, which stay with size 1; and of how many."""
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    count = math.prod(x.shape[axis] for axis in axes)
    mean, square = k.temp(shape, x.dtype), k.temp(shape, x.dtype)
    k.reduce(mean, "sum", same, x)
    k.assign(mean, lambda total: total / count, mean)
    k.reduce(square, "sum", lambda x, m: (x - m) * (x - m), x, mean)
    k.assign(square, lambda total: total / count, square)
    return mean, square, count


@lowers("var", "std", "var_mean", "std_mean")
def _variance(k: Builder, step: Call) -> None:
    x = step.input(0)
    axes = step.axes(x.rank)
    mean, square, count = moments(k, x, axes)
    correction = step.attributes.get("correction")
    correction = 1 if correction is None else correction
    factor = count / max(count - correction, 0) if count > correction else math.nan
    root = step.op.startswith("std")
    out = step.kept(step.out, axes, x.rank)
    k.assign(out, lambda v: call("sqrt", v * factor) if root else v * factor, square)
    for other in step.outputs[1:]:
        assert other is not None
        k.copy(step.kept(other, axes, x.rank), mean)


@lowers("linalg_vector_norm")
def _norm(k: Builder, step: Call) -> None:
    order = step.attributes["ord"]
    if abs(order) == math.inf:
        over_axes(k, step, "max" if order > 0 else "min", lambda x: call("abs", x))
    elif order == 0:
        over_axes(k, step, "sum", lambda x: x.differs(0).cast(x.dtype))
    elif order == 1:
        over_axes(k, step, "sum", lambda x: call("abs", x))
    elif order == 2:
        out, _ = over_axes(k, step, "sum", lambda x: x * x)
        k.assign(out, lambda x: call("sqrt", x), out)
    else:
        out, _ = over_axes(k, step, "sum", lambda x: call("pow", call("abs", x), order))
        k.assign(out, lambda x: call("pow", x, 1 / order), out)


@lowers("_linalg_vector_norm_backward")
def _norm_backward(k: Builder, step: Call) -> None:
    order = step.attributes["ord"]
    if order != 2:
        raise Unsupported(f"with ord={order!r}")
    g, x, norm = (step.input(i) for i in range(3))
    k.assign(step.out, lambda g, x, norm: where(norm.equals(0), 0, g * (x / norm)), g, x, norm)


@lowers("logsumexp")
def _logsumexp(k: Builder, step: Call) -> None:
    x = step.input(0)
    axes = step.axes(x.rank)
    out = step.kept(step.out, axes, x.rank)
    top, total = k.like(out), k.like(out)
    k.reduce(top, "max", same, x)
    k.assign(top, lambda m: where(call("abs", m).equals(math.inf), 0, m), top)
    k.reduce(total, "sum", lambda x, m: call("exp", x - m), x, top)
    k.assign(out, lambda total, m: call("log", total) + m, total, top)


@lowers("softmax", "log_softmax")
def _softmax(k: Builder, step: Call) -> None:
    x, out = step.input(0), step.out
    axes = step.axes(x.rank)
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    top, total = k.temp(shape, out.dtype), k.temp(shape, out.dtype)
    k.reduce(top, "max", same, x)
    k.reduce(total, "sum", lambda x, m: call("exp", x - m), x, top)
    if step.op == "softmax":
        k.assign(out, lambda x, m, total: call("exp", x - m) / total, x, top, total)
    else:
        k.assign(out, lambda x, m, total: x - m - call("log", total), x, top, total)


@lowers("_softmax_backward_data", "_log_softmax_backward_data")
def _softmax_backward(k: Builder, step: Call) -> None:
    g, y = step.input(0), step.input(1)
    axes = step.axes(y.rank)
    total = k.temp(tuple(1 if i in axes else size for i, size in enumerate(y.shape)), y.dtype)
    if step.op == "_softmax_backward_data":
        k.reduce(total, "sum", lambda g, y: g * y, g, y)
        k.assign(step.out, lambda g, y, total: y * (g - total), g, y, total)
    else:
        k.reduce(total, "sum", same, g)
        k.assign(step.out, lambda g, y, total: g - call("exp", y) * total, g, y, total)
