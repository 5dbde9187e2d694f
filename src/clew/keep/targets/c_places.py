"""Where the operands of a kernel lie in C, in all iterations of the loops around it.

In each iteration an operand begins at an element of an array. They become one expression of the loops' variables n0,
n1, ...: the element advances by a step, or comes again after a few iterations; the first and the last iteration may be
others, as they read what was there before and write what has a name. All else becomes a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy

from .c_kernels import INDENT, TYPES, literal, loops
from .kernels import Kernel
from .layout import Memory, Operand
from .rolling import Array, Loop, instances
from .scalar import Expr
from .storage import BLOCK

Axis = tuple[str, int]
"""The variable of a loop, and its value at the first of some iterations."""
LONGEST = 8
"""Iterations after which an element may come again."""
POINTER = 8
"""Bytes of an address in a table, at most."""


@dataclass(frozen=True)
class Place:
    """Where an operand begins."""

    base: str
    offset: str

    def element(self, index: str) -> str:
        return f"{self.base}[{_sum([self.offset, index])}]"

    def read(self, index: str, stored: str | None) -> str:
        """The element, of a constant that is stored in fewer bytes, too."""
        if stored is None:
            return self.element(index)
        if stored == "float16":
            return f"half({self.element(index)})"
        scale = f"{self.base}_scales[({_sum([self.offset, index])}) / {BLOCK}]"
        return f"({self.element(index)} * {scale})"


class Places:
    """`address` gives the array in which a memory lies, and its first element there; names of tables have a prefix."""

    def __init__(self, address: Callable[[Memory], tuple[str, int]], prefix: str) -> None:
        self.address = address
        self.prefix = prefix
        self.tables: dict[str, str] = {}
        """Names by definitions."""
        self.bytes = 0
        """Of the tables."""

    def lines(self, kernels: list[Kernel], place: int, axes: tuple[Loop, ...]) -> list[str]:
        """The C of a kernel, and of those that it stands for in other iterations."""
        every = instances(place, axes)
        alike = [kernels[i] for i in every.ravel().tolist()]
        found: dict[Memory, Place] = {}
        pointers: list[str] = []
        columns = zip(*map(_operands, alike), strict=True)

        first = alike[0]
        places = (self._place(column, every.shape, pointers, column[0] is first.out) for column in columns)
        out, *operands = [_bound(one, places, found) for one in (first.out, *first.operands)]
        numbers: dict[int, Expr] = {}
        for column in zip(*(_constants(one.value) for one in alike), strict=True):
            dtype = column[0].dtype
            texts = numpy.array([literal(one.value, dtype) for one in column]).reshape(every.shape)
            if (texts != texts.flat[0]).any():
                numbers[id(column[0])] = Expr("operand", (), dtype, len(operands))
                memory = Memory(dtype, 1)
                found[memory] = self._table(TYPES[dtype], numpy.dtype(dtype).itemsize, texts)
                operands.append(Operand(memory, first.shape, (0,) * len(first.shape)))
        value = _with(first.value, numbers, {})
        kernel = replace(first, out=out, operands=tuple(operands), value=value)
        made = loops(kernel, lambda memory, index: found[memory].read(index, memory.stored))
        if not pointers or not made:
            return made
        return ["{", *(INDENT + one.format(i) for i, one in enumerate(pointers)), *(INDENT + one for one in made), "}"]

    def _place(self, operands: tuple[Operand, ...], shape: tuple[int, ...], pointers: list[str], writes: bool) -> Place:
        addresses = [self.address(one.memory) for one in operands]
        labels = numpy.array([label for label, _ in addresses]).reshape(shape)
        begins = [begin + one.offset for (_, begin), one in zip(addresses, operands, strict=True)]
        elements = numpy.array(begins, numpy.int64).reshape(shape)
        if (labels == labels.flat[0]).all():
            return Place(str(labels.flat[0]), self._element(elements))
        kind = ("" if writes else "const ") + element_type(operands[0].memory)
        pointer = f"{kind} *const p{{}} = {self._pointer(labels, elements, kind)};"
        if pointer not in pointers:
            pointers.append(pointer)
        return Place(f"p{pointers.index(pointer)}", "0")

    def _element(self, elements: Array) -> str:
        if text := _expression(elements, None):
            return text
        size = next(size for size in (1, 2, 4) if elements.max() < 2 ** (8 * size))
        return self._table(f"uint{8 * size}_t", size, elements.astype(str)).element("0")

    def _pointer(self, labels: Array, elements: Array, kind: str) -> str:
        if text := _expression(elements, labels):
            return text[1:-1] if text.startswith("(") else text
        pairs = zip(labels.ravel().tolist(), elements.ravel().tolist(), strict=True)
        texts = numpy.array([_sum([label, str(element)]) for label, element in pairs]).reshape(labels.shape)
        return self._table(f"{kind} *", POINTER, texts).element("0")

    def _table(self, kind: str, size: int, texts: Array) -> Place:
        """Without the axes along which nothing varies."""
        names = [f"n{axis}" for axis in range(texts.ndim)]
        for axis in reversed(range(texts.ndim)):
            if (texts == texts.take([0], axis)).all():
                texts, names = texts.take(0, axis), names[:axis] + names[axis + 1 :]
        entries, strides = texts.ravel().tolist(), numpy.cumprod((1, *texts.shape[:0:-1]))[::-1].tolist()
        rows = [", ".join(entries[i : i + 8]) for i in range(0, len(entries), 8)]
        const = f"{kind}const" if kind.endswith("*") else f"const {kind}"
        definition = f"static {const} {{}}[{len(entries)}] = {{{{\n" + ",\n".join(INDENT + row for row in rows) + "}};"
        if definition not in self.tables:
            self.tables[definition] = f"{self.prefix}table_{len(self.tables)}"
            self.bytes += size * len(entries)
        return Place(self.tables[definition], _sum(list(map(_times, names, strides))))

    def definitions(self) -> str:
        return "\n".join(definition.format(name) for definition, name in self.tables.items())


def _expression(elements: Array, labels: Array | None) -> str | None:
    """Of the loops' variables: the array, if it varies, and the element; None if that needs a table."""
    axes = [(f"n{axis}", 0) for axis in range(elements.ndim)]
    for axis in reversed(range(elements.ndim)):
        if all((one == one.take([0], axis)).all() for one in (elements, labels) if one is not None):
            elements, labels = _at(elements, 0, axis), None if labels is None else _at(labels, 0, axis)
            del axes[axis]
    tries = (_chosen(elements, labels, axes, specials) for specials in range(3))
    return next((text for text in tries if text), None)


def _at(array: Array, place: int, axis: int) -> Array:
    return numpy.asarray(array.take(place, axis))


def _chosen(elements: Array, labels: Array | None, axes: list[Axis], specials: int) -> str | None:
    """What follows a rule, but for the first or the last iteration of as many loops, each chosen by `?`."""
    if labels is None or (labels == labels.flat[0]).all():
        rule = _rule(elements, axes)
        if rule is not None:
            return rule if labels is None else _sum([str(labels.flat[0]), rule])
    for axis, (name, first) in reversed(list(enumerate(axes))) if specials else ():
        last = elements.shape[axis] - 1
        for one in (0, last) if last else ():
            inner = slice(1, None) if one == 0 else slice(last)
            rest = (*(slice(None),) * axis, inner)
            moved = [*axes[:axis], (name, first + (one == 0)), *axes[axis + 1 :]]
            usual = _chosen(elements[rest], None if labels is None else labels[rest], moved, specials - 1)
            taken = None if labels is None else _at(labels, one, axis)
            other = usual and _chosen(_at(elements, one, axis), taken, axes[:axis] + axes[axis + 1 :], specials - 1)
            if other:
                return f"({name} == {first + one} ? {other} : {usual})"
    return None


def _rule(elements: Array, axes: list[Axis]) -> str | None:
    """What advances by a step along each axis; along one of them it may begin again after a few iterations."""
    terms: list[str] = []
    begin = 0
    for axis in reversed(range(elements.ndim)):
        name, first = axes[axis]
        if (step := _step(elements, axis)) is not None:
            begin -= step * first
        elif period := _period(elements, axis):
            elements, name = numpy.roll(elements.take(range(period), axis), first, axis), f"{name} % {period}"
            step = _step(elements, axis)
        if step is None:
            return None
        elements = elements.take(0, axis)
        terms.insert(0, _times(name, step))
    return _sum([str(int(elements) + begin), *terms])


def _step(elements: Array, axis: int) -> int | None:
    steps = numpy.diff(elements, axis=axis)
    return 0 if steps.size == 0 else int(steps.flat[0]) if (steps == steps.flat[0]).all() else None


def _period(elements: Array, axis: int) -> int | None:
    """The number of iterations after which it begins again."""
    along = numpy.moveaxis(elements, axis, 0)
    for period in range(2, min(LONGEST, len(along) - 1) + 1):
        if (along[period:] == along[:-period]).all():
            return period
    return None


def _sum(terms: list[str]) -> str:
    return " + ".join(term for term in terms if term != "0").replace("+ -", "- ") or "0"


def _times(variable: str, step: int) -> str:
    return (
        "0" if step == 0 else ("" if step > 0 else "-") + (variable if abs(step) == 1 else f"{variable} * {abs(step)}")
    )


def element_type(memory: Memory) -> str:
    """Of the array that holds it."""
    if memory.stored is None:
        return TYPES[memory.dtype]
    return "uint16_t" if memory.stored == "float16" else "int8_t"


def _operands(kernel: Kernel) -> list[Operand]:
    """With those of the indices that they are picked by."""

    return [one for operand in (kernel.out, *kernel.operands) for one in _with_indices(operand)]


def _with_indices(operand: Operand) -> Iterator[Operand]:
    yield operand
    for pick in operand.picks:
        yield from _with_indices(pick.index)


def _bound(operand: Operand, places: Iterator[Place], found: dict[Memory, Place]) -> Operand:
    """On a memory of its own, which `found` has at the next place; so are the indices that it is picked by."""
    memory = Memory(operand.dtype, operand.memory.size, stored=operand.memory.stored)
    found[memory] = next(places)
    picks = tuple(replace(pick, index=_bound(pick.index, places, found)) for pick in operand.picks)
    return replace(operand, memory=memory, offset=0, picks=picks)


def _constants(expr: Expr, known: set[int] | None = None) -> list[Expr]:
    """In the order in which they stand there, each once."""
    known = set() if known is None else known
    if id(expr) in known:
        return []
    known.add(id(expr))
    return [expr] if expr.op == "constant" else [one for arg in expr.args for one in _constants(arg, known)]


def _with(expr: Expr, others: dict[int, Expr], made: dict[int, Expr]) -> Expr:
    """With others in place of some."""
    if not others:
        return expr
    if id(expr) not in made:
        other = others.get(id(expr))
        made[id(expr)] = other or replace(expr, args=tuple(_with(arg, others, made) for arg in expr.args))
    return made[id(expr)]
