"""A kernel as loops in C."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy

from .functions import FUNCTIONS
from .kernels import Kernel
from .layout import Memory, Operand
from .scalar import FLOATS, INTEGERS, Expr, Number

TYPES = {"bool": "bool", "float32": "float", "float64": "double"} | {name: f"{name}_t" for name in INTEGERS}
WRAPPING = ("int32", "int64")
"""Integers whose arithmetic must not overflow in C; smaller ones are computed as int."""
BLOCK = 64
"""Sums of floats are made of sums of as many, so that their error grows with the number of blocks only."""

INDENT = "    "
Place = Callable[[Memory, str], str]
"""The C expression of an element of a memory."""


def literal(value: Number, dtype: str) -> str:
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in INTEGERS:
        if value == -(2**63):
            return "INT64_MIN"
        return f"INT64_C({int(value)})" if abs(value) >= 2**31 - 1 else str(int(value))
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return f"{numpy.float32(value)!s}f" if dtype == "float32" else repr(float(value))


def loops(kernel: Kernel, place: Place) -> list[str]:
    """The lines of a kernel."""
    kernel = _merged(kernel)
    outer = [i for i in range(len(kernel.shape)) if i not in kernel.axes]
    if any(kernel.shape[i] == 0 for i in outer):
        return []
    body = _Body(kernel, place)
    inner = _reduction(kernel, body) if kernel.axes else body.store()
    return _nest([(i, kernel.shape[i]) for i in outer], inner)


def _merged(kernel: Kernel) -> Kernel:
    """With axes that follow each other in all operands as one."""
    if any(one.picks for one in (*kernel.operands, kernel.out)) or _uses_index(kernel.value):
        return kernel
    for i in reversed(range(len(kernel.shape) - 1)):
        size = kernel.shape[i + 1]
        every = (*kernel.operands, kernel.out)
        if (i in kernel.axes) == (i + 1 in kernel.axes) and all(
            one.strides[i] == one.strides[i + 1] * size or kernel.shape[i] == 1 for one in every
        ):
            kernel = replace(
                kernel,
                out=_joined(kernel.out, i),
                shape=(*kernel.shape[:i], kernel.shape[i] * size, *kernel.shape[i + 2 :]),
                operands=tuple(_joined(one, i) for one in kernel.operands),
                axes=tuple(axis - (axis > i) for axis in kernel.axes if axis != i + 1 or i not in kernel.axes),
            )
    return kernel


def _joined(operand: Operand, axis: int) -> Operand:
    shape, strides = operand.shape, operand.strides
    return replace(
        operand,
        shape=(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]),
        strides=(*strides[:axis], *strides[axis + 1 :]),
    )


def _uses_index(expr: Expr) -> bool:
    return expr.op == "index" or any(map(_uses_index, expr.args))


def _nest(axes: list[tuple[int, int]], body: list[str]) -> list[str]:
    """Loops over axes, (number, size) each, around statements; at least a block if these declare something."""
    axes = [(axis, size) for axis, size in axes if size != 1]
    heads = [f"for (long i{axis} = 0; i{axis} < {size}; ++i{axis}) {{" for axis, size in axes]
    if not heads and len(body) > 1:
        heads = ["{"]
    lines = [INDENT * depth + head for depth, head in enumerate(heads)]
    lines += [INDENT * len(heads) + line for line in body]
    return lines + [INDENT * depth + "}" for depth in reversed(range(len(heads)))]


def _reduction(kernel: Kernel, body: _Body) -> list[str]:
    """The loops along the axes, and what is made of them."""
    dtype, last = kernel.out.dtype, kernel.axes[-1]
    size = kernel.shape[last]
    kind = _accumulator(kernel)
    inner, axes = body.combine("total"), [(axis, kernel.shape[axis]) for axis in kernel.axes]
    if kernel.combine == "sum" and dtype in FLOATS and (size > BLOCK or len(axes) > 1):
        row = [f"for (long i{last} = 0; i{last} < {size}; ++i{last}) {{"]
        if size > BLOCK:
            row = [f"for (long i{last} = b; i{last} < b + {BLOCK} && i{last} < {size}; ++i{last}) {{"]
        inner = [f"{kind} part = 0;", *row, *(INDENT + line for line in body.combine("part")), "}", "total += part;"]
        if size > BLOCK:
            inner = [f"for (long b = 0; b < {size}; b += {BLOCK}) {{", *(INDENT + line for line in inner), "}"]
        axes = axes[:-1]
    lines = [f"{kind} total = {literal(kernel.start, dtype)};", *_nest(axes, inner)]
    total = "total" if kind == TYPES[dtype] else f"({TYPES[dtype]})total"
    return [*lines, f"{body.element(kernel.out)} = {total};"]


def _accumulator(kernel: Kernel) -> str:
    """The type of what a reduction has so far: sums and products of integers wrap around, which signed ones may not."""
    kind = TYPES[kernel.out.dtype]
    return f"u{kind}" if kernel.combine in ("sum", "prod") and kernel.out.dtype in WRAPPING else kind


class _Body:
    """The innermost statements: locals for what is used more than once, then the value."""

    def __init__(self, kernel: Kernel, place: Place) -> None:
        self.kernel = kernel
        self.place = place
        self.uses: Counter[int] = Counter()
        self._count(kernel.value)

    def _count(self, expr: Expr) -> None:
        self.uses[id(expr)] += 1
        if self.uses[id(expr)] == 1:
            for arg in expr.args:
                self._count(arg)

    def store(self) -> list[str]:
        lines, value = self._computed()
        place, dtype = self.element(self.kernel.out), self.kernel.out.dtype
        if self.kernel.combine != "add":
            return [*lines, f"{place} = {value};"]
        if dtype in WRAPPING:
            return [*lines, f"{place} = ({TYPES[dtype]})((u{TYPES[dtype]}){place} + (u{TYPES[dtype]})({value}));"]
        return [*lines, f"{place} += {value};"]

    def combine(self, into: str) -> list[str]:
        lines, value = self._computed()
        if self.kernel.combine in ("sum", "prod"):
            value = f"({_accumulator(self.kernel)})({value})" if self.kernel.out.dtype in WRAPPING else value
            return [*lines, f"{into} {'+' if self.kernel.combine == 'sum' else '*'}= {value};"]
        dtype = self.kernel.out.dtype
        better = f"x {'>' if self.kernel.combine == 'max' else '<'} {into}" + (" || x != x" if dtype in FLOATS else "")
        return [*lines, f"const {TYPES[dtype]} x = {value};", f"if ({better}) {into} = x;"]

    def _computed(self) -> tuple[list[str], str]:
        self.lines: list[str] = []
        self.known: dict[int, str] = {}
        value = self._text(self.kernel.value)
        return self.lines, value[1:-1] if _enclosed(value) else value

    def _text(self, expr: Expr) -> str:
        if id(expr) in self.known:
            return self.known[id(expr)]
        text = self._made(expr)
        shared = self.uses[id(expr)] > 1 and expr.op not in ("constant", "index")
        if shared or (expr.op == "operand" and self.kernel.operands[expr.value].picks):
            name = f"t{len(self.lines)}"
            self.lines.append(f"const {TYPES[expr.dtype]} {name} = {text};")
            text = name
        self.known[id(expr)] = text
        return text

    def _made(self, expr: Expr) -> str:
        if expr.op == "constant":
            text = literal(expr.value, expr.dtype)
            return f"({text})" if text.startswith("-") else text
        if expr.op == "operand":
            return self.element(self.kernel.operands[expr.value])
        if expr.op == "index":
            return f"(int64_t)i{expr.value}" if self.kernel.shape[expr.value] != 1 else "(int64_t)0"
        args = [self._text(arg) for arg in expr.args]
        if expr.op == "cast":
            return f"({TYPES[expr.dtype]}){args[0]}"
        dtype = expr.args[-1].dtype
        template = FUNCTIONS[expr.op].c
        if dtype in WRAPPING and FUNCTIONS[expr.op].wraps:
            args = [f"(u{TYPES[dtype]}){arg}" for arg in args]
            return f"({TYPES[dtype]})({template.format(*args)})"
        text = template.format(*args, f="f" if dtype == "float32" else "")
        return text if template.endswith(")") and template[0].isalpha() else f"({text})"

    def element(self, operand: Operand) -> str:
        terms = [] if operand.offset == 0 else [str(operand.offset)]
        for i, stride in enumerate(operand.strides):
            if stride and self.kernel.shape[i] != 1:
                terms.append(f"i{i}" if stride == 1 else f"i{i} * {stride}")
        for pick in operand.picks:
            index = self.element(pick.index)
            terms.append(f"in_range({index}, {pick.size}, {int(pick.wraps)}) * {pick.stride}")
        return self.place(operand.memory, " + ".join(terms) or "0")


def _enclosed(text: str) -> bool:
    """Whether the first parenthesis closes at the end."""
    if not text.startswith("("):
        return False
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return i == len(text) - 1
    return False
