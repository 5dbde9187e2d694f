"""Kernels: what the steps of a program are lowered to, and what a target has to be able to do.

A kernel is one nest of loops over a shape. At each place it computes an expression of its operands' elements and
stores it, or combines it along some axes (a sum, a greatest element), or adds it to what is there. With operands that
are broadcast that is an elementwise operation, a reduction, a product of matrices, a convolution over windows, and with
picked elements a lookup and a scatter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .layout import Memory, Operand, broadcast, row_major
from .scalar import Expr, Number, constant, greatest, is_nan, least, where, wrapped

Formula = Callable[..., Expr | Number]


@dataclass(frozen=True)
class Origin:
    """The step that a kernel is of."""

    op: str
    site: str
    part: str
    """"forward", "backward" or "step"."""

    def __str__(self) -> str:
        return f"{self.op}: {self.site}" if self.site else self.op

    def fails(self, why: str) -> str:
        """For an error."""
        return f"{self.op} {why}".rstrip() + (f" (at {self.site})" if self.site else "")


@dataclass(frozen=True)
class Kernel:
    out: Operand
    shape: tuple[int, ...]
    """Of the loops. All operands have it; `out` has stride 0 along `axes`."""
    operands: tuple[Operand, ...]
    value: Expr
    combine: str
    """"set", "add" (to what is there), or along the axes "sum", "prod", "max", "min"."""
    axes: tuple[int, ...]
    origin: Origin

    @property
    def start(self) -> Number:
        """What a reduction begins with."""
        dtype = self.out.dtype
        if self.combine in ("max", "min"):
            return least(dtype) if self.combine == "max" else greatest(dtype)
        return int(self.combine == "prod")

    def read(self) -> list[Memory]:
        every = [*self.operands, self.out]
        read = [operand.memory for operand in self.operands]
        read += [pick.index.memory for operand in every for pick in operand.picks]
        return [*read, self.out.memory] if self.combine == "add" else read


@dataclass
class Builder:
    """Collects kernels; `origin` is the step that is being lowered."""

    kernels: list[Kernel] = field(default_factory=list)
    origin: Origin = field(default_factory=lambda: Origin("", "", "forward"))

    def temp(self, shape: tuple[int, ...], dtype: str) -> Operand:
        strides = row_major(shape)
        size = shape[0] * strides[0] if shape else 1
        return Operand(Memory(dtype, size), shape, strides)

    def fill(self, out: Operand, value: Number) -> None:
        self.assign(out, lambda: value)

    def copy(self, out: Operand, source: Operand) -> None:
        self.assign(out, lambda x: x, source)

    def assign(
        self, out: Operand, formula: Formula, *operands: Operand, dtype: str | None = None, raw: tuple[int, ...] = ()
    ) -> None:
        """out = formula(*operands), broadcast, computed in `dtype` (else out's) but for the operands in `raw`."""
        self._emit(out, out.shape, formula, operands, "set", (), dtype or out.dtype, raw)

    def accumulate(self, out: Operand, formula: Formula, *operands: Operand, raw: tuple[int, ...] = ()) -> None:
        """Adds at each place; several places may be one element of `out`."""
        self._emit(out, out.shape, formula, operands, "add", (), out.dtype, raw)

    def reduce(
        self,
        out: Operand,
        combine: str,
        formula: Formula,
        *operands: Operand,
        raw: tuple[int, ...] = (),
        dtype: str | None = None,
    ) -> None:
        """Along the axes where out has size 1 and the operands have more."""
        shape = broadcast(out.shape, *(operand.shape for operand in operands))
        axes = tuple(i for i, size in enumerate(shape) if out.shape[i] == 1 and size != 1)
        self._emit(out, shape, formula, operands, combine if axes else "set", axes, dtype or out.dtype, raw)

    def product(self, out: Operand, left: Operand, right: Operand) -> None:
        """out = sum of left * right, as in reduce()."""
        self.reduce(out, "sum", lambda x, y: x * y, left, right)

    def like(self, out: Operand) -> Operand:
        return self.temp(out.shape, out.dtype)

    def _emit(
        self,
        out: Operand,
        shape: tuple[int, ...],
        formula: Formula,
        operands: tuple[Operand, ...],
        combine: str,
        axes: tuple[int, ...],
        dtype: str,
        raw: tuple[int, ...],
    ) -> None:
        target = spread_over(out, shape)
        spread = tuple(spread_over(operand, shape) for operand in operands)
        arguments = [
            _element(i, operand).cast(operand.dtype if i in raw else dtype) for i, operand in enumerate(spread)
        ]
        value = formula(*arguments)
        if not isinstance(value, Expr):
            value = constant(value, out.dtype)
        value, spread = _of_used(wrapped(value.cast(out.dtype)), spread)
        kernel = Kernel(target, shape, spread, value, combine, axes, self.origin)
        if combine != "add" and any(_overlaps(operand, target, bool(axes)) for operand in spread):
            # It reads what it has written, or will write: through other memory.
            temporary = self.like(out)
            self.kernels.append(
                Kernel(temporary.expanded(shape), shape, spread, kernel.value, combine, axes, self.origin)
            )
            return self.copy(out, temporary)
        if combine == "add" and any(operand.memory is out.memory for operand in spread):
            temporary = self.temp(shape, out.dtype)
            self.kernels.append(Kernel(temporary, shape, spread, kernel.value, "set", (), self.origin))
            return self.accumulate(out, lambda x: x, temporary)
        self.kernels.append(kernel)
        return None


def _of_used(value: Expr, operands: tuple[Operand, ...]) -> tuple[Expr, tuple[Operand, ...]]:
    """Without the operands that the value does not read."""
    used: list[int] = []
    value = _renumbered(value, used, {})
    return value, tuple(operands[i] for i in used)


def _renumbered(expr: Expr, used: list[int], made: dict[int, Expr]) -> Expr:
    if id(expr) not in made:
        if expr.op == "operand" and expr.value not in used:
            used.append(expr.value)
        place = used.index(expr.value) if expr.op == "operand" else expr.value
        args = tuple(_renumbered(one, used, made) for one in expr.args)
        made[id(expr)] = replace(expr, args=args, value=place)
    return made[id(expr)]


def spread_over(operand: Operand, shape: tuple[int, ...]) -> Operand:
    """Over the loops, what it picks by too."""
    picks = tuple(replace(pick, index=pick.index.expanded(shape)) for pick in operand.picks)
    return replace(operand.expanded(shape), picks=picks)


def loop_index(axis: int, dtype: str = "int64") -> Expr:
    """The place along an axis of the loops."""
    return Expr("index", (), "int64", axis).cast(dtype)


def _element(place: int, operand: Operand) -> Expr:
    if operand.memory.number is not None:
        return constant(operand.memory.number, operand.dtype)
    return Expr("operand", (), operand.dtype, place)


def _overlaps(operand: Operand, out: Operand, reduces: bool) -> bool:
    if any(pick.index.memory is out.memory for pick in (*operand.picks, *out.picks)):
        return True
    if operand.memory is not out.memory:
        return False
    return reduces or not operand.same_place(out)


def greater_of(x: Expr, y: Expr) -> Expr:
    """NaN if one of them is."""
    return where((x > y) | is_nan(x), x, y)


def smaller_of(x: Expr, y: Expr) -> Expr:
    return where((x < y) | is_nan(x), x, y)
