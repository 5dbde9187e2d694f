"""Normalization, and activations with parameters."""

from __future__ import annotations

import math
from dataclasses import replace

from .elementwise import sigmoid
from .errors import Unsupported
from .kernels import Builder
from .layout import Operand
from .reductions import moments, same
from .scalar import call, where
from .table import Call, lowers


def _rate(k: Builder, variance: Operand, out: Operand, eps: float) -> None:
    k.assign(out, lambda v: 1 / call("sqrt", v + eps), variance)


def _normalize(k: Builder, step: Call, out: Operand, x: Operand, mean: Operand, rate: Operand, place: int) -> None:
    """out = (x - mean) * rate * weight + bias; weight and bias stand at the axis `place`."""
    weight, bias = step.inputs[1], step.inputs[2]
    k.assign(out, lambda x, m, r: (x - m) * r, x, mean, rate)
    for operand, formula in ((weight, lambda y, w: y * w), (bias, lambda y, b: y + b)):
        if operand is not None:
            k.assign(out, formula, out, spread_behind(operand, place, out.rank))


def spread_behind(operand: Operand, place: int, rank: int) -> Operand:
    """Its axes stand at `place`, and others of size 1 behind them."""
    behind = rank - place - operand.rank
    return operand.inserted(*range(operand.rank, operand.rank + behind))


def _gradients(
    k: Builder,
    step: Call,
    g: Operand,
    x: Operand,
    mean: Operand,
    rate: Operand,
    axes: tuple[int, ...],
    place: int,
    weight: Operand | None,
    fixed: bool,
) -> None:
    """Of x, weight and bias; along `axes` mean and rate are shared. `fixed`: they don't depend on x."""
    wanted_x, wanted_weight, wanted_bias = (*step.outputs, None, None)[:3]
    normal = k.temp(x.shape, x.dtype)
    k.assign(normal, lambda x, m, r: (x - m) * r, x, mean, rate)
    if wanted_weight is not None:
        k.product(spread_behind(wanted_weight, place, x.rank).expanded_rank(x.rank), g, normal)
    if wanted_bias is not None:
        k.reduce(spread_behind(wanted_bias, place, x.rank).expanded_rank(x.rank), "sum", same, g)
    if wanted_x is None:
        return
    weighted = g
    if weight is not None:
        weighted = k.temp(x.shape, x.dtype)
        k.assign(weighted, lambda g, w: g * w, g, spread_behind(weight, place, x.rank))
    if fixed:
        return k.assign(wanted_x, lambda g, r: g * r, weighted, rate)
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    total, along = k.temp(shape, x.dtype), k.temp(shape, x.dtype)
    count = math.prod(x.shape[axis] for axis in axes)
    k.reduce(total, "sum", same, weighted)
    k.product(along, weighted, normal)
    k.assign(
        wanted_x,
        lambda g, n, r, total, along: r * (g - (total + n * along) / count),
        weighted,
        normal,
        rate,
        total,
        along,
    )
    return None


@lowers("native_layer_norm")
def _layer_norm(k: Builder, step: Call) -> None:
    x, (out, mean, rate) = step.input(0), step.outputs
    assert out is not None
    assert mean is not None
    assert rate is not None
    axes = tuple(range(x.rank - step.attributes["axes"], x.rank))
    average, square, _ = moments(k, x, axes)
    shape = average.shape
    k.copy(_kept(mean, shape), average)
    _rate(k, square, _kept(rate, shape), step.attributes["eps"])
    _normalize(k, step, out, x, average, _kept(rate, shape), axes[0])


def _kept(operand: Operand, shape: tuple[int, ...]) -> Operand:
    """With the axes of size 1 that `shape` has."""
    return operand if operand.shape == shape else operand.reshaped(shape)


@lowers("native_layer_norm_backward")
def _layer_norm_backward(k: Builder, step: Call) -> None:
    g, x, weight, mean, rate = step.input(0), step.input(3), step.inputs[4], step.input(7), step.input(8)
    axes = tuple(range(x.rank - step.attributes["axes"], x.rank))
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    _gradients(k, step, g, x, _kept(mean, shape), _kept(rate, shape), axes, axes[0], weight, False)


@lowers("native_batch_norm")
def _batch_norm(k: Builder, step: Call) -> None:
    x, (out, mean, rate) = step.input(0), step.outputs
    assert out is not None
    running_mean, running_var = step.inputs[3], step.inputs[4]
    shape = tuple(size if i == 1 else 1 for i, size in enumerate(x.shape))
    eps, momentum = step.attributes["eps"], step.attributes["momentum"]
    if not step.attributes["training"]:
        if running_mean is None or running_var is None:
            raise Unsupported("without running statistics")
        scale = k.temp(shape, x.dtype)
        _rate(k, spread_behind(running_var, 1, x.rank), scale, eps)
        return _normalize(k, step, out, x, spread_behind(running_mean, 1, x.rank), scale, 1)
    axes = tuple(i for i in range(x.rank) if i != 1)
    average, square, count = moments(k, x, axes)
    scale = k.temp(shape, x.dtype)
    _rate(k, square, scale, eps)
    _normalize(k, step, out, x, average, scale, 1)
    for saved, value in ((mean, average), (rate, scale)):
        if saved is not None:
            k.copy(spread_behind(saved, 1, x.rank).expanded_rank(x.rank), value)
    for running, value, factor in ((running_mean, average, 1.0), (running_var, square, count / max(count - 1, 1))):
        if running is not None:
            kept = spread_behind(running, 1, x.rank).expanded_rank(x.rank)
            k.assign(
                kept, lambda old, new, factor=factor: old * (1 - momentum) + new * (momentum * factor), kept, value
            )
    return None


@lowers("native_batch_norm_backward")
def _batch_norm_backward(k: Builder, step: Call) -> None:
    g, x, weight = step.input(0), step.input(3), step.inputs[4]
    axes = tuple(i for i in range(x.rank) if i != 1)
    if step.attributes["training"]:
        mean, rate = spread_behind(step.input(9), 1, x.rank), spread_behind(step.input(10), 1, x.rank)
    else:
        mean = spread_behind(step.input(6), 1, x.rank)
        rate = k.temp(mean.expanded_rank(x.rank).shape, x.dtype)
        _rate(k, spread_behind(step.input(7), 1, x.rank), rate, step.attributes["eps"])
    _gradients(k, step, g, x, mean, rate, axes, 1, weight, not step.attributes["training"])


def _by_group(x: Operand | None, axis: int, groups: int) -> Operand | None:
    return None if x is None else x.split(axis, (groups, x.shape[axis] // groups))


def _grouped(step: Call, groups: int, first: int) -> tuple[Call, Operand]:
    """The step with [n, groups, channels of a group, ...], and its input, which is at `first`."""
    inputs = list(step.inputs)
    for place, axis in ((first, 1), (first + 1, 0), (first + 2, 0)):
        inputs[place] = _by_group(inputs[place], axis, groups)
    x = inputs[first]
    assert x is not None
    return replace(step, inputs=tuple(inputs)), x


@lowers("native_group_norm")
def _group_norm(k: Builder, step: Call) -> None:
    groups = step.attributes["groups"]
    mean, rate = step.outputs[1:]
    step, x = _grouped(step, groups, 0)
    out = _by_group(step.out, 1, groups)
    assert out is not None
    average, square, _ = moments(k, x, tuple(range(2, x.rank)))
    scale = k.temp(average.shape, x.dtype)
    _rate(k, square, scale, step.attributes["eps"])
    for saved, value in ((mean, average), (rate, scale)):
        if saved is not None:
            k.copy(_kept(saved, average.shape), value)
    _normalize(k, step, out, x, average, scale, 1)


@lowers("native_group_norm_backward")
def _group_norm_backward(k: Builder, step: Call) -> None:
    groups = step.attributes["groups"]
    mean, rate = step.input(7), step.input(8)
    step, x = _grouped(step, groups, 3)
    g = _by_group(step.input(0), 1, groups)
    assert g is not None
    outputs = tuple(_by_group(one, axis, groups) for one, axis in zip(step.outputs, (1, 0, 0), strict=False))
    shape = (*x.shape[:2], *(1,) * (x.rank - 2))
    axes = tuple(range(2, x.rank))
    step = replace(step, outputs=outputs)
    _gradients(k, step, g, x, _kept(mean, shape), _kept(rate, shape), axes, 1, step.inputs[4], False)


@lowers("glu", "_glu_backward")
def _glu(k: Builder, step: Call) -> None:
    x, out = step.input(len(step.inputs) - 1), step.out
    axis = step.attributes["dim"] % x.rank
    half = x.shape[axis] // 2
    value, gate = x.sliced(axis, 0, half), x.sliced(axis, half, half)
    if step.op == "glu":
        return k.assign(out, lambda v, g: v * sigmoid(g), value, gate)
    g = step.input(0)
    k.assign(out.sliced(axis, 0, half), lambda g, gate: g * sigmoid(gate), g, gate)
    slope = lambda g, v, gate: g * v * sigmoid(gate) * (1 - sigmoid(gate))  # noqa: E731
    return k.assign(out.sliced(axis, half, half), slope, g, value, gate)


@lowers("_prelu_kernel_backward")
def _prelu_backward(k: Builder, step: Call) -> None:
    g, x, weight = (step.input(i) for i in range(3))
    of_x, of_weight = step.outputs
    if of_x is not None:
        k.assign(of_x, lambda g, x, w: where(x > 0, g, g * w), g, x, weight)
    if of_weight is not None:
        k.assign(of_weight, lambda g, x: where(x > 0, 0, g * x), g, x)
