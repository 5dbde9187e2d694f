"""Constants of a C program in fewer bytes: as float16, or as int8 with a scale for each few elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy

from .in_numpy import results
from .layout import Memory
from .lower import Lowered
from .scalar import FLOATS

Array = numpy.ndarray[Any, Any]

KINDS = ("float16", "int8")
SMALLEST = 16
"""Elements; smaller constants stay as they are."""
BLOCK = 32
"""Elements of int8 that share a scale."""


def store(lowered: Lowered, constants: Iterable[Memory], kind: str) -> dict[str, float]:
    """Marks what is stored otherwise, and rounds its values. Gives the error of each named result that this makes, at
    the present values of the inputs, relative to its largest element.
    """
    before = results(lowered)
    for i, memory in enumerate(constants):
        if memory.dtype in FLOATS and memory.size >= SMALLEST:
            _check(memory.values, kind)
            memory.stored = kind if kind == "float16" else f"int8 {i}"  # each has scales of its own
            memory.values = decoded(memory).astype(memory.dtype)
    return {name: _distance(one, before[name]) for name, one in results(lowered).items()}


def encoded(memory: Memory) -> tuple[Array, Array | None]:
    """The integers that are stored, and their scales."""
    if memory.stored == "float16":
        return memory.values.astype(numpy.float16).view(numpy.uint16), None
    blocks = numpy.zeros((-(-memory.size // BLOCK), BLOCK), memory.dtype)
    blocks.ravel()[: memory.size] = memory.values
    scales = abs(blocks).max(1) / 127
    integers = numpy.rint(blocks / numpy.where(scales == 0, 1, scales)[:, None])
    integers = integers.clip(-127, 127)  # the scale of subnormal numbers is rounded far
    return integers.astype(numpy.int8).ravel()[: memory.size], scales


def decoded(memory: Memory) -> Array:
    integers, scales = encoded(memory)
    return integers.view(numpy.float16) if scales is None else integers * scales.repeat(BLOCK)[: memory.size]


def stored_bytes(memory: Memory) -> int:
    if memory.stored is None:
        return memory.size * numpy.dtype(memory.dtype).itemsize
    integers, scales = encoded(memory)
    return int(integers.nbytes + (0 if scales is None else scales.nbytes))


def _check(values: Array, kind: str) -> None:
    largest, limit = abs(values).max(), 65504 if kind == "float16" else numpy.finfo(values.dtype).max
    if not largest <= limit:
        raise ValueError(
            f"to_c: expected constants of at most {limit:g} for constants={kind!r}, got one of {largest:g}. To do: "
            "name the tensor, so that it is no constant, or leave constants as they are"
        )


def _distance(one: Array, other: Array) -> float:
    """Of the elements that are finite in both, relative to the largest; infinite if they are not the same."""
    a, b = one.astype(numpy.float64), other.astype(numpy.float64)
    finite = numpy.isfinite(b)
    if (finite != numpy.isfinite(a)).any():
        return float("inf")
    largest = abs(b[finite]).max(initial=0.0)
    return float(abs(a - b)[finite].max(initial=0.0) / (largest or 1.0))
