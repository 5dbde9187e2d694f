"""Scalar expressions: how one element of a result comes from elements of the operands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float32", "float64")
KNOWN = ("bool", *INTEGERS, *FLOATS)

Number = float | int | bool


@dataclass(frozen=True, eq=False)
class Expr:
    """A function of functions.py over others; or an "operand", a "constant", an "index" of a loop, a "cast"."""

    op: str
    args: tuple[Expr, ...]
    dtype: str
    value: Any = None
    """Which operand; the number; which axis."""

    def __add__(self, other: Expr | Number) -> Expr:
        return _binary("add", self, other)

    def __radd__(self, other: Number) -> Expr:
        return _binary("add", constant(other, self.dtype), self)

    def __sub__(self, other: Expr | Number) -> Expr:
        return _binary("sub", self, other)

    def __rsub__(self, other: Number) -> Expr:
        return _binary("sub", constant(other, self.dtype), self)

    def __mul__(self, other: Expr | Number) -> Expr:
        return self if not isinstance(other, Expr) and other == 1 else _binary("mul", self, other)

    def __rmul__(self, other: Number) -> Expr:
        return self if other == 1 else _binary("mul", constant(other, self.dtype), self)

    def __truediv__(self, other: Expr | Number) -> Expr:
        return _binary("div", self, other)

    def __rtruediv__(self, other: Number) -> Expr:
        return _binary("div", constant(other, self.dtype), self)

    def __neg__(self) -> Expr:
        return Expr("neg", (self,), self.dtype)

    def __lt__(self, other: Expr | Number) -> Expr:
        return _compare("less", self, other)

    def __gt__(self, other: Expr | Number) -> Expr:
        return _compare("greater", self, other)

    def __le__(self, other: Expr | Number) -> Expr:
        return _compare("less_equal", self, other)

    def __ge__(self, other: Expr | Number) -> Expr:
        return _compare("greater_equal", self, other)

    def equals(self, other: Expr | Number) -> Expr:
        return _compare("equal", self, other)

    def differs(self, other: Expr | Number) -> Expr:
        return _compare("not", _compare("equal", self, other))

    def __and__(self, other: Expr) -> Expr:
        return _binary("and" if self.dtype == "bool" else "bit_and", self, other)

    def __or__(self, other: Expr) -> Expr:
        return _binary("or" if self.dtype == "bool" else "bit_or", self, other)

    def __xor__(self, other: Expr) -> Expr:
        return self.differs(other) if self.dtype == "bool" else _binary("bit_xor", self, other)

    def __invert__(self) -> Expr:
        return Expr("not" if self.dtype == "bool" else "bit_not", (self,), self.dtype)

    def cast(self, dtype: str) -> Expr:
        if dtype == self.dtype:
            return self
        if self.op == "constant":
            return constant(self.value, dtype)
        if dtype == "bool":
            return self.differs(0)
        return Expr("cast", (self,), dtype)


def constant(value: Number, dtype: str) -> Expr:
    kind: type = bool if dtype == "bool" else int if dtype in INTEGERS else float
    return Expr("constant", (), dtype, kind(value))


def call(name: str, *args: Expr | Number) -> Expr:
    """A function of floats (or of one dtype), by its name in functions.py."""
    dtype = next(arg.dtype for arg in args if isinstance(arg, Expr))
    return Expr(name, tuple(_lift(arg, dtype) for arg in args), dtype)


def where(condition: Expr, yes: Expr | Number, no: Expr | Number) -> Expr:
    dtype = next(arg.dtype for arg in (yes, no) if isinstance(arg, Expr))
    condition, chosen, other = condition.cast("bool"), _lift(yes, dtype), _lift(no, dtype)
    if dtype == "bool":
        return (condition & chosen) | (~condition & other)
    return Expr("where", (condition, chosen, other), dtype)


def is_nan(x: Expr) -> Expr:
    return x.differs(x) if x.dtype in FLOATS else constant(False, "bool")


def least(dtype: str) -> Number:
    """What max() begins with."""
    if dtype == "bool":
        return False
    if dtype in FLOATS:
        return -math.inf
    return int(numpy.iinfo(dtype).min)


def greatest(dtype: str) -> Number:
    if dtype == "bool":
        return True
    if dtype in FLOATS:
        return math.inf
    return int(numpy.iinfo(dtype).max)


def _lift(other: Expr | Number, dtype: str) -> Expr:
    return wrapped(other.cast(dtype) if isinstance(other, Expr) else constant(other, dtype))


def wrapped(x: Expr) -> Expr:
    """An integer constant as its dtype holds it: -3 of uint8 is 253. What is compared stays as it is."""
    if x.op != "constant" or x.dtype not in INTEGERS:
        return x
    low, high = least(x.dtype), greatest(x.dtype)
    return x if low <= x.value <= high else constant((x.value - low) % (high - low + 1) + low, x.dtype)


def _binary(name: str, left: Expr, right: Expr | Number) -> Expr:
    dtype = left.dtype
    if isinstance(right, Expr) and KNOWN.index(right.dtype) > KNOWN.index(dtype):
        dtype = right.dtype
    if dtype == "bool":
        name = {"add": "or", "mul": "and"}.get(name, name)
    return Expr(name, (_lift(left, dtype), _lift(right, dtype)), dtype)


def _compare(name: str, *args: Expr | Number) -> Expr:
    dtype = next(arg.dtype for arg in args if isinstance(arg, Expr))
    lifted = tuple(arg.cast(dtype) if isinstance(arg, Expr) else constant(arg, dtype) for arg in args)
    known = None if name == "not" else _outcome(name, *lifted)
    return Expr(name, lifted, "bool") if known is None else constant(known, "bool")


def _outcome(name: str, x: Expr, y: Expr) -> bool | None:
    """Of a comparison that the dtype of x decides, which compilers warn of."""
    source = x.args[0].dtype if x.op == "cast" else x.dtype
    if y.op != "constant" or source in FLOATS:
        return None
    low, high, bound = least(source), greatest(source), y.value
    if name == "equal":
        return None if low <= bound <= high else False
    never, always = {
        "less": (bound <= low, bound > high),
        "less_equal": (bound < low, bound >= high),
        "greater": (bound >= high, bound < low),
        "greater_equal": (bound > high, bound <= low),
    }[name]
    return bool(always) if never or always else None
