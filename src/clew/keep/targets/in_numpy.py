"""Kernels in NumPy: to see what a change of constants does to results, without a compiler."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .arrays import run
from .functions import FUNCTIONS
from .kernels import Kernel
from .lower import Lowered

Array = numpy.ndarray[Any, Any]


def results(lowered: Lowered) -> dict[str, Array]:
    """The named results of one run, from the present values."""
    with numpy.errstate(all="ignore"):
        state = run(lowered, _NumPy(), {})
    return {one.name: state[one.memory] for one in lowered.named if one.is_result}


def _int_div(x: Array, y: Array) -> Array:
    return numpy.where(y == 0, 0, numpy.sign(x) * numpy.sign(y) * (abs(x) // numpy.where(y == 0, 1, abs(y))))


OTHERS: dict[str, Callable[..., Any]] = {
    "int_div": _int_div,
    "int_rem": lambda x, y: x - _int_div(x, y) * y,
    "erf": numpy.vectorize(math.erf, [float]),
    "erfc": numpy.vectorize(math.erfc, [float]),
    "lgamma": numpy.vectorize(math.lgamma, [float]),
}


class _NumPy:
    """Of arrays.Target."""

    def begin(self, kernel: Kernel) -> None:
        pass

    def constant(self, values: Array) -> Array:
        return values

    def function(self, name: str, args: tuple[Array, ...], dtype: str) -> Array:
        made = OTHERS[name](*args) if name in OTHERS else getattr(numpy, FUNCTIONS[name].jax)(*args)
        return numpy.asarray(made).astype(dtype) if name in OTHERS else numpy.asarray(made)

    def cast(self, x: Array, dtype: str) -> Array:
        return x.astype(dtype)

    def reshape(self, x: Array, shape: tuple[int, ...]) -> Array:
        return x.reshape(shape)

    def transpose(self, x: Array, order: tuple[int, ...]) -> Array:
        return x.transpose(order)

    def slice(self, x: Array, parts: list[tuple[int, int, int]]) -> Array:
        return x[tuple(slice(*part) for part in parts)]

    def expand(self, x: Array, shape: tuple[int, ...]) -> Array:
        return numpy.broadcast_to(x, shape)

    def reduce(self, x: Array, combine: str, axes: tuple[int, ...], dtype: str) -> Array:
        return numpy.asarray(getattr(numpy, combine)(x, axis=axes, keepdims=True)).astype(dtype)

    def einsum(self, equation: str, x: Array, y: Array) -> Array:
        return numpy.asarray(numpy.einsum(equation, x, y))

    def take(self, flat: Array, addresses: Array) -> Array:
        return flat.take(addresses, mode="clip")

    def put(self, flat: Array, addresses: Array, values: Array, adds: bool) -> Array:
        made, inside = flat.copy(), addresses < len(flat)
        if adds:
            numpy.add.at(made, addresses[inside], values[inside])
        else:
            made[addresses[inside]] = values[inside]
        return made
