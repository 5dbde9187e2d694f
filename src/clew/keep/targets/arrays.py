"""Kernels as operations on whole arrays, for the targets that have no memory: JAX and ONNX.

A memory is the array of its elements in a row, and a write gives a new one. Operands are read by reshaping, slicing and
transposing it, or, where that can't be, by looking up addresses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy

from .kernels import Kernel
from .layout import Memory, Operand
from .lower import Lowered
from .scalar import FLOATS, Expr

Array = Any
"""Of the target. Whatever it is, its shape is known from the operand."""


class Target(Protocol):
    """What a target does with arrays. Elementwise functions broadcast."""

    def begin(self, kernel: Kernel) -> None: ...
    def constant(self, values: numpy.ndarray[Any, Any]) -> Array: ...
    def function(self, name: str, args: tuple[Array, ...], dtype: str) -> Array: ...
    def cast(self, x: Array, dtype: str) -> Array: ...
    def reshape(self, x: Array, shape: tuple[int, ...]) -> Array: ...
    def transpose(self, x: Array, order: tuple[int, ...]) -> Array: ...
    def slice(self, x: Array, parts: list[tuple[int, int, int]]) -> Array:
        """(start, end, step) of each axis."""

    def expand(self, x: Array, shape: tuple[int, ...]) -> Array: ...
    def reduce(self, x: Array, combine: str, axes: tuple[int, ...], dtype: str) -> Array:
        """The axes stay, with size 1."""

    def einsum(self, equation: str, x: Array, y: Array) -> Array: ...
    def take(self, flat: Array, addresses: Array) -> Array: ...
    def put(self, flat: Array, addresses: Array, values: Array, adds: bool) -> Array:
        """All of one axis."""


def run(lowered: Lowered, target: Target, begin: dict[Memory, Array]) -> dict[Memory, Array]:
    """Memories at the end, from those that are given; others begin with their present values."""
    state = dict(begin)
    evaluation = _Evaluation(target, state)
    for kernel in lowered.kernels:
        evaluation.kernel(kernel)
    for one in lowered.named:
        evaluation.flat(one.memory)
    return state


@dataclass
class _Evaluation:
    target: Target
    state: dict[Memory, Array]

    def kernel(self, kernel: Kernel) -> None:
        self.target.begin(kernel)
        out = tuple(1 if i in kernel.axes else size for i, size in enumerate(kernel.shape))
        if 0 in out:
            return
        if kernel.axes and (equation := _equation(kernel)):
            operands = [self.read(kernel.operands[arg.value]) for arg in kernel.value.args]
            squeezed = [
                self.target.reshape(x, tuple(size for size in _sizes(kernel.operands[arg.value]) if size != 1))
                for x, arg in zip(operands, kernel.value.args, strict=True)
            ]
            value = self.target.reshape(self.target.einsum(equation, *squeezed), out)
        else:
            value = self.target.expand(self._value(kernel, kernel.value, {}), kernel.shape)
            if kernel.axes:
                value = self.target.reduce(value, kernel.combine, kernel.axes, kernel.out.dtype)
        self.write(kernel.out, out, value, kernel.combine == "add")

    def _value(self, kernel: Kernel, expr: Expr, known: dict[int, Array]) -> Array:
        if id(expr) not in known:
            known[id(expr)] = self._computed(kernel, expr, known)
        return known[id(expr)]

    def _computed(self, kernel: Kernel, expr: Expr, known: dict[int, Array]) -> Array:
        if expr.op == "operand":
            return self.read(kernel.operands[expr.value])
        if expr.op == "constant":
            return self.target.constant(numpy.array(expr.value, expr.dtype))
        if expr.op == "index":
            shape = tuple(size if i == expr.value else 1 for i, size in enumerate(kernel.shape))
            return self.target.constant(numpy.arange(kernel.shape[expr.value]).reshape(shape))
        args = tuple(self._value(kernel, arg, known) for arg in expr.args)
        if expr.op == "cast":
            return self.target.cast(args[0], expr.dtype)
        return self.target.function(expr.op, args, expr.args[-1].dtype)

    # ----------------------------------------------------------------------------------------------- memory
    def flat(self, memory: Memory) -> Array:
        if memory not in self.state:
            self.state[memory] = self.target.constant(memory.begin())
        return self.state[memory]

    def read(self, operand: Operand) -> Array:
        """With size 1 where it is broadcast."""
        flat, sizes = self.flat(operand.memory), _sizes(operand)
        if not operand.picks and (way := _way(operand.memory.size, sizes, operand.strides, operand.offset)):
            return self._along(flat, way, sizes)
        return self.target.take(flat, self._addresses(operand, sizes))

    def _along(self, flat: Array, way: _Way, sizes: tuple[int, ...]) -> Array:
        target, length = self.target, math.prod(way.shape)
        if way.whole != length:
            flat = target.slice(flat, [(0, length, 1)])
        x = target.reshape(flat, way.shape)
        if any((start, end) != (0, size) for (start, end, _), size in zip(way.parts, way.shape, strict=True)):
            x = target.slice(x, way.parts)
        if way.order != tuple(range(len(way.order))):
            x = target.transpose(x, way.order)
        return target.reshape(x, sizes)

    def _addresses(self, operand: Operand, sizes: tuple[int, ...]) -> Array:
        """Where each element lies; behind all where an index is out of range."""
        target = self.target
        found = target.constant(_places(sizes, operand.strides, operand.offset))
        for pick in operand.picks:
            index = target.cast(self.read(pick.index), "int64")
            size = target.constant(numpy.array(pick.size))
            zero = target.constant(numpy.array(0))
            if pick.wraps:
                negative = target.function("less", (index, zero), "int64")
                index = target.function("where", (negative, self._int("add", index, size), index), "int64")
            inside = target.function(
                "and",
                (
                    target.function("greater_equal", (index, zero), "int64"),
                    target.function("less", (index, size), "int64"),
                ),
                "bool",
            )
            stride = target.constant(numpy.array(pick.stride))
            moved = self._int("add", found, self._int("mul", index, stride))
            beyond = target.constant(numpy.array(operand.memory.size))
            found = target.function("where", (inside, moved, beyond), "int64")
        return found

    def _int(self, name: str, x: Array, y: Array) -> Array:
        return self.target.function(name, (x, y), "int64")

    def write(self, out: Operand, shape: tuple[int, ...], value: Array, adds: bool) -> None:
        """`value` has this shape."""
        target, size = self.target, out.memory.size
        order = sorted(range(len(shape)), key=lambda i: (-out.strides[i], i))
        dense = not adds and not out.picks and _is_dense(shape, out, order)
        if dense and math.prod(shape) == size:
            if order != sorted(order):
                value = target.transpose(value, tuple(order))
            self.state[out.memory] = target.reshape(value, (size,))
            return
        flat = self.flat(out.memory)
        addresses = target.expand(self._addresses(out, shape), shape)
        count = (math.prod(shape),)
        value, addresses = target.reshape(value, count), target.reshape(addresses, count)
        self.state[out.memory] = target.put(flat, addresses, value, adds)


def _sizes(operand: Operand) -> tuple[int, ...]:
    """Of what is read: 1 where it is the same along an axis."""
    sizes = [size if stride else 1 for size, stride in zip(operand.shape, operand.strides, strict=True)]
    for pick in operand.picks:
        sizes = [max(a, b) for a, b in zip(sizes, _sizes(pick.index), strict=True)]
    return tuple(sizes)


def _places(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> numpy.ndarray[Any, Any]:
    found = numpy.full((1,) * len(sizes), offset, numpy.int64)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        along = [1] * len(sizes)
        along[axis] = size
        if stride:
            found = found + stride * numpy.arange(size).reshape(along)
    return found


def _is_dense(shape: tuple[int, ...], out: Operand, order: list[int]) -> bool:
    expected = 1
    for axis in reversed(order):
        if shape[axis] != 1:
            if out.strides[axis] != expected:
                return False
            expected *= shape[axis]
    return out.offset == 0


def _equation(kernel: Kernel) -> str | None:
    """Of a sum of products of two operands."""
    value = kernel.value
    if kernel.combine != "sum" or value.op != "mul" or value.dtype not in FLOATS:
        return None
    if any(arg.op != "operand" for arg in value.args) or len(kernel.shape) > 26:
        return None
    letters = "abcdefghijklmnopqrstuvwxyz"
    sides = [
        "".join(letters[i] for i, size in enumerate(_sizes(kernel.operands[arg.value])) if size != 1)
        for arg in value.args
    ]
    if any(letters[axis] not in sides[0] + sides[1] for axis in kernel.axes):
        return None
    kept = [letters[i] for i, size in enumerate(kernel.shape) if i not in kernel.axes and size != 1]
    if any(letter not in sides[0] + sides[1] for letter in kept):
        return None
    return f"{sides[0]},{sides[1]}->{''.join(kept)}"


@dataclass(frozen=True)
class _Way:
    """From a row of `whole` elements to a view: its beginning in this shape, parts of the axes, these in order."""

    whole: int
    shape: tuple[int, ...]
    parts: list[tuple[int, int, int]]
    order: tuple[int, ...]


def _way(whole: int, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> _Way | None:
    axes = sorted((i for i, size in enumerate(sizes) if size != 1), key=lambda i: -strides[i])
    if 0 in sizes or any(strides[i] <= 0 for i in axes):
        return None
    shape: list[int] = []
    parts: list[tuple[int, int, int]] = []
    above, rest = 0, offset
    for i in axes:
        stride = strides[i]
        if above and (above == stride or above % stride):
            return None
        extent = above // stride if above else max(whole // stride, 1)
        if above == 0 and extent * stride > whole:
            return None
        start = rest // stride
        if start + sizes[i] > extent:
            return None
        shape.append(extent)
        parts.append((start, start + sizes[i], 1))
        above, rest = stride, rest % stride
    inner = above or whole
    shape.append(inner)
    parts.append((rest, rest + 1, 1))
    return _Way(whole, tuple(shape), parts, (*(axes.index(i) for i in sorted(axes)), len(axes)))
