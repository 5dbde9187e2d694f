"""Losses, and the steps of optimizers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .elementwise import absolute, clamp, softplus
from .errors import Unsupported
from .kernels import Builder
from .layout import Operand, broadcast
from .reductions import same
from .scalar import Expr, call, constant, where
from .table import Call, lowers

NONE, MEAN, SUM = 0, 1, 2


def reduced(k: Builder, step: Call, formula: Callable[..., Expr], *operands: Operand) -> None:
    """The loss of each element, or their mean or sum."""
    if step.attributes["reduction"] == NONE:
        return k.assign(step.out, formula, *operands)
    rank = max(operand.rank for operand in operands)
    out = step.out.inserted(*range(rank))
    k.reduce(out, "sum", formula, *operands)
    count = math.prod(broadcast(*(operand.shape for operand in operands)))
    if step.attributes["reduction"] == MEAN:
        k.assign(out, lambda total: total / count, out)
    return None


@lowers("mse_loss")
def _mse(k: Builder, step: Call) -> None:
    reduced(k, step, lambda x, y: (x - y) * (x - y), step.input(0), step.input(1))


@lowers("l1_loss")
def _l1(k: Builder, step: Call) -> None:
    reduced(k, step, lambda x, y: absolute(x - y), step.input(0), step.input(1))


@lowers("huber_loss")
def _huber(k: Builder, step: Call) -> None:
    delta = step.attributes["delta"]

    def loss(x: Expr, y: Expr) -> Expr:
        distance = absolute(x - y)
        return where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))

    reduced(k, step, loss, step.input(0), step.input(1))


@lowers("smooth_l1_loss")
def _smooth_l1(k: Builder, step: Call) -> None:
    beta = step.attributes["beta"]

    def loss(x: Expr, y: Expr) -> Expr:
        distance = absolute(x - y)
        return (
            distance if beta == 0 else where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)
        )

    reduced(k, step, loss, step.input(0), step.input(1))


@lowers("binary_cross_entropy")
def _binary_cross_entropy(k: Builder, step: Call) -> None:
    def loss(x: Expr, y: Expr, *weight: Expr) -> Expr:
        one = -(y * clamp(call("log", x), -100.0) + (1 - y) * clamp(call("log1p", -x), -100.0))
        return one * weight[0] if weight else one

    reduced(k, step, loss, *(operand for operand in step.inputs if operand is not None))


@lowers("binary_cross_entropy_with_logits")
def _binary_cross_entropy_with_logits(k: Builder, step: Call) -> None:
    if any(operand is not None for operand in step.inputs[2:]):
        raise Unsupported("with weight or pos_weight")
    reduced(k, step, lambda x, y: softplus(-x) + (1 - y) * x, step.input(0), step.input(1))


def _weights(k: Builder, target: Operand, weight: Operand | None, ignored: int, dtype: str) -> tuple[Operand, Operand]:
    """The class to look up, and the weight, of each target: 0 and 0 where it is ignored."""
    classes, weights = k.temp(target.shape, target.dtype), k.temp(target.shape, dtype)
    k.assign(classes, lambda t: where(t.equals(ignored), 0, t), target)
    chosen = () if weight is None else (weight.expanded((*target.shape, weight.shape[0])).chosen(target.rank, classes),)
    k.assign(
        weights,
        lambda t, *w: where(t.equals(ignored), constant(0, dtype), w[0] if w else 1),
        target,
        *chosen,
        raw=(0,),
    )
    return classes, weights


@lowers("nll_loss_forward", "nll_loss2d_forward")
def _nll(k: Builder, step: Call) -> None:
    x, target = step.input(0), step.input(1)
    loss, total = step.out, step.outputs[1]
    assert total is not None
    classes, weights = _weights(k, target, step.inputs[2], step.attributes["ignore_index"], x.dtype)
    axis = min(1, x.rank - 1)
    chosen = x.chosen(axis, classes)
    reduction = step.attributes["reduction"]
    every = tuple(range(target.rank))
    k.reduce(total.inserted(*every), "sum", same, weights)
    ignored = step.attributes["ignore_index"]

    def one(t: Expr, x: Expr, w: Expr) -> Expr:  # also where the element of the ignored target is infinite
        return where(t.equals(ignored), constant(0, step.out.dtype), -x * w)

    if reduction == NONE:
        return k.assign(loss, one, target, chosen, weights, raw=(0,))
    k.reduce(loss.inserted(*every), "sum", one, target, chosen, weights, raw=(0,))
    if reduction == MEAN:
        k.assign(loss, lambda loss, total: loss / total, loss, total)
    return None


@lowers("_nll_loss_backward")
def _nll_backward(k: Builder, step: Call) -> None:
    g, target, weight, total = step.input(0), step.input(1), step.inputs[2], step.input(3)
    out, ignored = step.out, step.attributes["ignore_index"]
    classes, weights = _weights(k, target, weight, ignored, out.dtype)
    k.fill(out, 0)
    chosen = out.chosen(min(1, out.rank - 1), classes)

    def slope(t: Expr, g: Expr, w: Expr, *total: Expr) -> Expr:  # of which the total weight is 0 where all are ignored
        return where(t.equals(ignored), constant(0, out.dtype), -g * w / total[0] if total else -g * w)

    divisor = (total,) if step.attributes["reduction"] == MEAN else ()
    k.accumulate(chosen, slope, target, g, weights, *divisor, raw=(0,))


def _rate(step: Call) -> tuple[Any, tuple[Operand, ...]]:
    """The learning rate as a number for formulas; if it is a tensor, the operand that they get in its place."""
    rate = step.attributes["lr"]
    return (None, (rate.reshaped(()),)) if isinstance(rate, Operand) else (rate, ())


@lowers("sgd_step")
def _sgd(k: Builder, step: Call) -> None:
    options = step.attributes
    rate, given = _rate(step)
    parameter, gradient, momentum = step.input(0), step.input(1), step.inputs[2]

    def slope(g: Expr, p: Expr) -> Expr:
        g = -g if options["maximize"] else g
        return g + options["weight_decay"] * p if options["weight_decay"] else g

    if momentum is None:
        return k.assign(parameter, lambda p, g, lr=rate: p - lr * slope(g, p), parameter, gradient, *given)
    gain = 1 if options["first"] else 1 - options["dampening"]
    kept = 0 if options["first"] else options["momentum"]
    k.assign(momentum, lambda m, g, p: kept * m + gain * slope(g, p), momentum, gradient, parameter)
    if not options["nesterov"]:
        return k.assign(parameter, lambda p, m, lr=rate: p - lr * m, parameter, momentum, *given)
    return k.assign(
        parameter,
        lambda p, m, g, lr=rate: p - lr * (slope(g, p) + options["momentum"] * m),
        parameter,
        momentum,
        gradient,
        *given,
    )


@lowers("adam_step")
def _adam(k: Builder, step: Call) -> None:
    options = step.attributes
    parameter, gradient, mean, square, greatest = (*(step.input(i) for i in range(4)), step.inputs[4])
    count = step.input(5)
    decay, beta1, beta2 = options["weight_decay"], options["beta1"], options["beta2"]

    def slope(g: Expr, p: Expr) -> Expr:
        g = -g if options["maximize"] else g
        return g + decay * p if decay and not options["decoupled"] else g

    k.assign(mean, lambda m, g, p: m + (1 - beta1) * (slope(g, p) - m), mean, gradient, parameter)
    k.assign(square, lambda v, g, p: beta2 * v + (1 - beta2) * slope(g, p) * slope(g, p), square, gradient, parameter)
    if greatest is not None:
        k.assign(greatest, lambda a, b: where(a > b, a, b), greatest, square)
    number, given = _rate(step)
    rate, root = (k.temp((), parameter.dtype) for _ in range(2))  # 1 - beta ** count without cancellation
    k.assign(rate, lambda t, lr=number: lr / -call("expm1", t * math.log(beta1)) if beta1 else lr, count, *given)
    k.assign(
        root, lambda t: call("sqrt", -call("expm1", t * math.log(beta2))) if beta2 else constant(1, t.dtype), count
    )
    shrinks = decay if options["decoupled"] else 0
    k.assign(
        parameter,
        lambda p, m, v, rate, root, lr=number: (
            (p * (1 - lr * shrinks) if shrinks else p) - rate * m / (call("sqrt", v) / root + options["eps"])
        ),
        parameter,
        mean,
        square if greatest is None else greatest,
        rate,
        root,
        *given,
    )
