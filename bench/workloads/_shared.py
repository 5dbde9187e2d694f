"""Seeded inputs, the same for every library; parameters; and the loop that all trainings share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bench.workload import Jit, Module, Run

Array = np.ndarray[Any, Any]
Spec = Mapping[str, tuple[int, ...]]
STEPS_COMPARED = 4


LINE = 64  # bytes of a line of the cache


def aligned(array: Array) -> Array:
    """The same at the beginning of a line of the cache, so that no rival is slower for where its input happens to lie:
    a product of two matrices of 32 by 32 takes up to a tenth more elsewhere."""
    room = np.empty(array.nbytes + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def values(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    """Normally distributed float32."""
    return aligned(np.asarray(np.random.default_rng(seed).standard_normal(shape) * scale, np.float32))


def initial(name: str, index: int, shape: tuple[int, ...]) -> Array:
    """What a parameter begins with: scaled by the inputs of a unit; near 1 for the weight of a normalization."""
    if len(shape) > 1:
        return values(*shape, seed=100 + index, scale=1 / math.sqrt(math.prod(shape[1:])))
    around = 1.0 if "norm" in name and name.endswith("weight") else 0.0
    return (around + values(*shape, seed=100 + index, scale=0.1)).astype(np.float32)


def fill(m: Module, model: Any) -> list[Any]:
    """Give a model's parameters their initial values; the parameters."""
    parameters = []
    with m.no_grad():
        for index, (name, parameter) in enumerate(model.named_parameters()):
            parameter.copy_(m.from_numpy(initial(name, index, tuple(parameter.shape))))
            parameters.append(parameter)
    return parameters


def arrays(spec: Spec) -> list[Array]:
    """The same initial values for those who have no modules."""
    return [initial(name, index, shape) for index, (name, shape) in enumerate(spec.items())]


def training(optimizer: Any, loss: Callable[..., Any], data: Sequence[Any], jit: Jit) -> Run:
    """Zero the gradients, compute the loss, go back, step. The losses of the first steps are compared."""
    compute = jit(loss)

    def step() -> Any:
        optimizer.zero_grad()
        value = compute(*data)
        value.backward()
        optimizer.step()
        return value

    return Run(step, steps_compared=STEPS_COMPARED)


def jax_training(jax: Module, spec: Spec, loss: Callable[..., Any], data: Iterable[Array], update: Any) -> Run:
    """The whole step compiled: ``loss(parameters, *data)``, its gradient, and ``update`` over all parameters."""
    jnp = jax.numpy
    begin, apply = update
    inputs = [jnp.asarray(array) for array in data]
    parameters = [jnp.asarray(array) for array in arrays(spec)]
    state = (parameters, begin(jnp, parameters))

    def step(state: Any, *inputs: Any) -> Any:
        parameters, moments = state
        value, gradients = jax.value_and_grad(loss)(parameters, *inputs)
        return apply(jnp, parameters, gradients, moments), value

    compiled = jax.jit(step, donate_argnums=0)

    def call() -> Any:
        nonlocal state
        state, value = compiled(state, *inputs)
        return value

    return Run(call, steps_compared=STEPS_COMPARED, ready=lambda _: jax.block_until_ready(state))


def plain_training(np_: Module, gradient: Callable[..., Any], parameters: list[Array], update: Any) -> Run:
    """For NumPy and autograd: ``gradient(parameters)`` gives the loss and the gradients, ``update`` is in NumPy."""
    begin, apply = update
    state = (parameters, begin(np_, parameters))

    def call() -> Any:
        nonlocal state
        value, gradients = gradient(state[0])
        state = apply(np_, state[0], gradients, state[1])
        return value

    return Run(call, steps_compared=STEPS_COMPARED)


def sgd(rate: float, momentum: float = 0.0) -> Any:
    """Stochastic gradient descent for those who have no optimizers: (begin, apply)."""

    def begin(np_: Module, parameters: Any) -> Any:
        return [np_.zeros_like(p) for p in parameters] if momentum else []

    def apply(np_: Module, parameters: Any, gradients: Any, moments: Any) -> Any:
        if momentum:
            gradients = moments = [momentum * v + g for v, g in zip(moments, gradients, strict=True)]
        return [p - rate * g for p, g in zip(parameters, gradients, strict=True)], moments

    return begin, apply


def adam(rate: float, decay: float = 0.0) -> Any:
    """Adam, or AdamW with ``decay`` (Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019): (begin, apply)."""

    def begin(np_: Module, parameters: Any) -> Any:
        return [np_.zeros_like(p) for p in parameters], [np_.zeros_like(p) for p in parameters], np_.float32(0)

    def apply(np_: Module, parameters: Any, gradients: Any, moments: Any) -> Any:
        first, second, steps = moments
        steps = steps + np_.float32(1)
        first = [np_.float32(0.9) * m + np_.float32(0.1) * g for m, g in zip(first, gradients, strict=True)]
        second = [np_.float32(0.999) * v + np_.float32(0.001) * g * g for v, g in zip(second, gradients, strict=True)]
        size = np_.float32(rate) / (1 - np_.float32(0.9) ** steps)
        scale = np_.sqrt(1 - np_.float32(0.999) ** steps)
        moved = [
            p * np_.float32(1 - rate * decay) - size * m / (np_.sqrt(v) / scale + np_.float32(1e-8))
            for p, m, v in zip(parameters, first, second, strict=True)
        ]
        return moved, (first, second, steps)

    return begin, apply
