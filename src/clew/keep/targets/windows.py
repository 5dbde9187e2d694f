"""Convolution and pooling: windows are views, padding is a copy, gradients of windows scatter back."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .errors import Unsupported
from .kernels import Builder, loop_index
from .layers import spread_behind
from .layout import Operand
from .reductions import same
from .scalar import Expr, Number, constant, is_nan, least, where
from .table import Call, lowers

Sizes = tuple[int, ...]


def padded(
    k: Builder,
    x: Operand,
    before: Sizes,
    sizes: Sizes,
    value: Number = 0,
    spread: Sizes | None = None,
) -> Operand:
    """A copy in a larger tensor of `sizes` at the last axes, with `spread` - 1 elements between its own."""
    lead = x.rank - len(sizes)
    spread = spread or (1,) * len(sizes)
    if sizes == x.shape[lead:] and not any(before):
        return x
    made = k.temp((*x.shape[:lead], *sizes), x.dtype)
    k.fill(made, value)
    k.copy(inside(made, x.shape, before, spread), _cut(x, before, sizes))
    return made


def inside(whole: Operand, shape: Sizes, before: Sizes, spread: Sizes) -> Operand:
    lead = whole.rank - len(before)
    for i, start in enumerate(before):
        length = min(shape[lead + i], -(-(whole.shape[lead + i] - start) // spread[i]))
        whole = whole.sliced(lead + i, start, length, spread[i])
    return whole


def _cut(x: Operand, before: Sizes, sizes: Sizes) -> Operand:
    lead = x.rank - len(sizes)
    for i, size in enumerate(sizes):
        x = (
            x.sliced(lead + i, 0, min(x.shape[lead + i], size - before[i]))
            if size - before[i] < x.shape[lead + i]
            else x
        )
    return x


def windows(x: Operand, counts: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Operand:
    lead = x.rank - len(kernel)
    for i, size in enumerate(kernel):
        x = x.windows(lead + i, counts[i], size, stride[i], dilation[i])
    return x


def reach(counts: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes) -> Sizes:
    """How far the windows go, from the first element on."""
    return tuple((c - 1) * s + d * (n - 1) + 1 for c, n, s, d in zip(counts, kernel, stride, dilation, strict=True))


def convolve(k: Builder, out: Operand, x: Operand, weight: Operand, stride: Sizes, dilation: Sizes) -> None:
    """out[n, group, o, place] = sum over c and window of x[n, group, c, padded] * weight[group, o, c, window]."""
    axes = weight.rank - 3
    spread = windows(x, out.shape[3:], weight.shape[3:], stride, dilation)  # n, g, c, places, windows
    spread = spread.moved(2, 2 + axes).inserted(2)  # n, g, 1, places, c, windows
    kernels = weight.inserted(0, *range(3, 3 + axes))  # 1, g, o, 1..., c, windows
    k.product(out.inserted(*range(out.rank, out.rank + 1 + axes)), spread, kernels)


def _each(sizes: Iterable[int], axes: int) -> Sizes:
    """One for each axis, where one may be said for all."""
    given = tuple(sizes)
    return given * axes if len(given) == 1 else given


def _options(step: Call, axes: int) -> tuple[Sizes, ...]:
    given = step.attributes
    return _each(given["stride"], axes), _each(given["padding"], axes), _each(given["dilation"], axes)


@lowers("convolution")
def _convolution(k: Builder, step: Call) -> None:
    x, weight, bias, out = step.input(0), step.input(1), step.inputs[2], step.out
    axes, groups = x.rank - 2, step.attributes["groups"]
    stride, padding, dilation = _options(step, axes)
    kernel = weight.shape[2:]
    x, target = x.split(1, (groups, x.shape[1] // groups)), out.split(1, (groups, out.shape[1] // groups))
    weight = weight.split(0, (groups, weight.shape[0] // groups))
    if step.attributes["transposed"]:
        for axis in range(axes):
            weight = weight.flipped(3 + axis)
        weight = weight.moved(2, 1)
        before = tuple(d * (n - 1) - p for d, n, p in zip(dilation, kernel, padding, strict=True))
        if min(before, default=0) < 0:
            raise Unsupported("transposed, with more padding than the kernel has elements")
        sizes = reach(out.shape[2:], kernel, (1,) * axes, dilation)
        x, stride = padded(k, x, before, sizes, spread=stride), (1,) * axes
    else:
        sizes = tuple(
            max(r, n + p)
            for r, n, p in zip(reach(out.shape[2:], kernel, stride, dilation), x.shape[3:], padding, strict=True)
        )
        x = padded(k, x, padding, sizes)
    convolve(k, target, x, weight, stride, dilation)
    if bias is not None:
        k.assign(out, lambda y, b: y + b, out, spread_behind(bias, 1, out.rank))


@lowers("_convolution_weight")
def _convolution_weight(k: Builder, step: Call) -> None:
    g, x, out = step.input(0), step.input(1), step.out
    axes, groups = x.rank - 2, step.attributes["groups"]
    stride, padding, dilation = _options(step, axes)
    kernel, counts = out.shape[2:], g.shape[2:]
    sizes = tuple(
        max(r, n + p) for r, n, p in zip(reach(counts, kernel, stride, dilation), x.shape[2:], padding, strict=True)
    )
    x = padded(k, x, padding, sizes).split(1, (groups, x.shape[1] // groups))
    spread = windows(x, counts, kernel, stride, dilation)  # n, g, c, places, windows
    spread = spread.permuted((1, 2, *range(3 + axes, 3 + 2 * axes), 0, *range(3, 3 + axes))).inserted(1)
    g = g.split(1, (groups, g.shape[1] // groups)).moved(0, 2)  # g, o, n, places
    g = g.inserted(*range(2, 3 + axes))  # g, o, 1 (c), 1 (windows), n, places
    target = out.split(0, (groups, out.shape[0] // groups))
    k.product(target.inserted(*range(target.rank, target.rank + 1 + axes)), spread, g)


def _pool(step: Call) -> tuple[Sizes, ...]:
    axes = int(step.op.split("pool")[1][0])
    given = step.attributes
    kernel = _each(given["kernel_size"], axes)
    stride = _each(given["stride"] or kernel, axes)
    return kernel, stride, _each(given["padding"], axes), _each(given.get("dilation") or (1,), axes)


@lowers(*(f"max_pool{axes}d_with_indices" for axes in (1, 2, 3)))
def _max_pool(k: Builder, step: Call) -> None:
    x, out, indices = step.input(0), step.out, step.outputs[1]
    kernel, stride, padding, dilation = _pool(step)
    axes = len(kernel)
    lead, counts, sizes = x.rank - axes, out.shape[-axes:], x.shape[-axes:]
    whole = tuple(
        max(r, n + p) for r, n, p in zip(reach(counts, kernel, stride, dilation), sizes, padding, strict=True)
    )
    spread = windows(padded(k, x, padding, whole, least(x.dtype)), counts, kernel, stride, dilation)
    tail = range(x.rank, x.rank + axes)
    assert indices is not None

    def place(x: Expr, top: Expr) -> Expr:
        index, valid = constant(0, "int64"), x.equals(top) | (is_nan(x) & is_nan(top))
        for i in range(axes):
            here = loop_index(lead + i) * stride[i] + loop_index(x_rank + i) * dilation[i] - padding[i]
            index = index * sizes[i] + here
            if whole[i] != sizes[i]:
                valid = valid & (here >= 0) & (here < sizes[i])
        return where(valid, index, math.prod(sizes))

    x_rank = x.rank
    k.reduce(out.inserted(*tail), "max", same, spread)
    k.reduce(indices.inserted(*tail), "min", place, spread, out.inserted(*tail), raw=(0, 1))


@lowers("_max_pool_gradient")
def _max_pool_gradient(k: Builder, step: Call) -> None:
    g, indices, out, axes = step.input(0), step.input(1), step.out, step.attributes["axes"]
    lead = out.shape[: out.rank - axes]
    k.fill(out, 0)
    flat = out.reshaped((*lead, math.prod(out.shape[out.rank - axes :])))
    target = flat.chosen(len(lead), indices)
    k.accumulate(target.inserted(*range(len(lead), g.rank)).expanded(g.shape), lambda g: g, g)


def _shares(
    k: Builder, step: Call, x_shape: Sizes, out_shape: Sizes, dtype: str
) -> tuple[Operand, Sizes, tuple[Sizes, ...]]:
    """1 / how many elements each window of a mean has; the padded sizes; the options."""
    options = kernel, stride, padding, dilation = _pool(step)
    axes = len(kernel)
    counts, sizes = out_shape[-axes:], x_shape[-axes:]
    whole = tuple(
        max(r, n + p) for r, n, p in zip(reach(counts, kernel, stride, dilation), sizes, padding, strict=True)
    )
    inner = tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))
    includes = step.attributes["count_include_pad"]
    share = k.temp(counts, dtype)
    if divisor := step.attributes.get("divisor_override"):
        k.fill(share, 1 / divisor)
        return share, whole, options
    ones = k.temp(whole, dtype)
    k.fill(ones, 0)
    counted = inside(ones, inner if includes else sizes, (0,) * axes if includes else padding, (1,) * axes)
    k.fill(counted, 1)
    k.reduce(share.inserted(*range(axes, 2 * axes)), "sum", same, windows(ones, counts, kernel, stride, dilation))
    k.assign(share, lambda n: 1 / n, share)
    return share, whole, options


@lowers(*(f"avg_pool{axes}d" for axes in (1, 2, 3)))
def _mean_pool(k: Builder, step: Call) -> None:
    x, out = step.input(0), step.out
    share, whole, (kernel, stride, padding, dilation) = _shares(k, step, x.shape, out.shape, out.dtype)
    axes = len(kernel)
    spread = windows(padded(k, x, padding, whole), out.shape[-axes:], kernel, stride, dilation)
    k.reduce(out.inserted(*range(x.rank, x.rank + axes)), "sum", same, spread)
    k.assign(out, lambda total, share: total * share, out, share)


@lowers(*(f"_avg_pool{axes}d_gradient" for axes in (1, 2, 3)))
def _mean_pool_gradient(k: Builder, step: Call) -> None:
    g, out = step.input(0), step.out
    share, whole, (kernel, stride, padding, dilation) = _shares(k, step, out.shape, g.shape, out.dtype)
    axes = len(kernel)
    lead = out.shape[: out.rank - axes]
    scattered = k.temp((*lead, *whole), out.dtype)
    k.fill(scattered, 0)
    target = windows(scattered, g.shape[-axes:], kernel, stride, dilation)
    tail = range(g.rank, g.rank + axes)
    k.accumulate(target, lambda g, share: g * share, g.inserted(*tail), share.inserted(*range(axes, 2 * axes)))
    k.copy(out, inside(scattered, out.shape, padding, (1,) * axes))
