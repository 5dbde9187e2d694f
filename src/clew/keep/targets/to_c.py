"""A program as C11: loops over fixed memory, no dependency but libm."""

from __future__ import annotations

import hashlib
import math
import os
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from .c_kernels import INDENT, TYPES, literal
from .c_places import Places, element_type
from .c_texts import FUNCTIONS, HALF, HEADER, INDEX, MAIN, MAKEFILE, QUOTIENT, RESERVED, REST, SOURCE, STATIC
from .kernels import Kernel
from .layout import Memory
from .lower import PARTS, Lowered, Named, lower
from .rolling import Loop, roll
from .schedule import Plan, plan
from .storage import KINDS, encoded, store, stored_bytes

if TYPE_CHECKING:
    from ..program import Program

NEAR = 1.02
"""An arena of as many times the least one is good enough."""


@dataclass(frozen=True)
class Sizes:
    """Of a program in C, in bytes. The size of its code is said by `make`."""

    named: int
    """Tensors that have names."""
    state: int
    """What it keeps from one run to the next, without a name: an optimizer's state, statistics."""
    arena: int
    """What lives during a run; values that don't live at the same time share it."""
    constants: int
    """Read only, the tables of loops included."""
    statements: int
    """The text of its statements."""
    unrolled: tuple[int, int] | None
    """If it has loops over iterations: the text of its statements without them, about, and the least RAM."""
    stored: str | None
    """As what constants are stored, if not as they are."""
    errors: dict[str, float]
    """Of the named results, made by that: relative to the largest element, at the present values of the inputs."""

    @property
    def ram(self) -> int:
        return self.named + self.state + self.arena

    def __str__(self) -> str:
        said = (
            f"{self.ram} bytes of RAM ({self.named} named, {self.state} state, {self.arena} arena), "
            f"{self.constants} bytes of constants"
        )
        if self.stored is not None:
            errors = sorted(self.errors.items(), key=lambda one: -one[1])
            named = ", ".join(f"{error:.1e} of {name}" for name, error in errors[:3]) or "none of a named result"
            said += f" as {self.stored}, whose errors are {named}"
        if self.unrolled is not None:
            text, ram = self.unrolled
            said += (
                f". With loops {self.statements / 1000:,.0f} kB of statements and {self.ram} bytes of RAM, "
                f"unrolled {text / 1000:,.0f} kB and at least {ram} bytes"
            )
        return said


@dataclass(frozen=True)
class _Names:
    """Of the files and symbols of a program."""

    name: str

    @property
    def main(self) -> str:
        return "main" if self.name == "program" else f"{self.name}_main"

    @property
    def makefile(self) -> str:
        return "Makefile" if self.name == "program" else f"{self.name}.mk"

    @property
    def examples(self) -> tuple[str, str]:
        """To be edited."""
        return f"{self.main}.c", self.makefile

    @property
    def static(self) -> str:
        """What names begin with that the linker does not see: two programs may be one source, too."""
        return "" if self.name == "program" else f"{self.name}_"

    def of(self, tensor: str) -> str:
        """In C: "layer.weight" becomes program_layer_weight."""
        return f"{self.name}_{tensor.replace('.', '_')}"


def to_c(
    program: Program,
    folder: str | os.PathLike[str],
    name: str,
    unroll: bool,
    constants: str | None,
    overwrite: bool,
) -> Sizes:
    if constants not in (None, *KINDS):
        raise ValueError(f"to_c: expected constants='float16', 'int8' or None, got {constants!r}")
    names = _Names(name)
    _check_names(program, names)
    lowered = lower(program, "to_c")
    files, sizes = _Source(lowered, names, unroll, constants).files()
    _write(Path(folder), {file: _stamped(file, text) for file, text in files.items()}, names, overwrite)
    return sizes


def _write(folder: Path, files: dict[str, str], names: _Names, overwrite: bool) -> None:
    """What somebody else has written stays: an example that was edited, and anything else by an error."""
    others = set() if overwrite else {name for name in files if _is_of_others(folder / name)}
    if refused := sorted(others - set(names.examples)):
        raise FileExistsError(
            f"to_c: expected {' and '.join(refused)} in {folder} to be missing, or as to_c wrote it; got a file that "
            "was edited, or not written by to_c. To do: take another folder, move the file, or pass overwrite=True"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in files.keys() - others:
        (folder / name).write_text(files[name])
    if others:
        warnings.warn(
            f"to_c: {' and '.join(sorted(others))} in {folder} were edited, or not written by to_c, so they were not "
            f"changed. Check that they still match {names.name}.h, or pass overwrite=True",
            stacklevel=4,
        )


def _stamped(file: str, text: str) -> str:
    """With a first line that tells later whether the rest was edited."""
    made = f"Made by clew's to_c; {hashlib.sha256(text.encode()).hexdigest()[:16]} tells whether it was edited since."
    return (f"/* {made} */\n" if file.endswith((".c", ".h")) else f"# {made}\n") + text


def _is_of_others(path: Path) -> bool:
    if not path.exists():
        return False
    text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
    return text != _stamped(path.name, text.partition("\n")[2])


def _check_names(program: Program, names: _Names) -> None:
    if not (names.name.isidentifier() and names.name.isascii()) or names.name.startswith("_"):
        raise ValueError(
            f"to_c: expected a name of letters, digits and _ that begins with a letter, got name={names.name!r}; "
            "it becomes the beginning of files and symbols"
        )
    found = {f"{names.name}_{word}": "" for word in RESERVED}
    for tensor in program._names:
        identifier = names.of(tensor)
        if not (identifier.isidentifier() and tensor.isascii()):
            raise ValueError(
                f"to_c: expected names of letters, digits, _ and dots, got {tensor!r}; name the tensor otherwise"
            )
        if found.get(identifier) == "" or (names.static and re.fullmatch(names.static + f"({STATIC})", identifier)):
            raise ValueError(f"to_c: {identifier} is taken by the program itself; take another name than {tensor!r}")
        if identifier in found:
            raise ValueError(
                f"to_c: expected names that differ in C, got {found[identifier]!r} and {tensor!r}, which are both "
                f"{identifier}; name one of the tensors otherwise"
            )
        found[identifier] = tensor


class _Source:
    def __init__(self, lowered: Lowered, names: _Names, unroll: bool, stored: str | None) -> None:
        self.lowered = lowered
        self.names = names
        memories = lowered.memories()
        self.named = [one.memory for one in lowered.named]
        self.state = [one for one in memories if one in lowered.kept and one.name is None]
        others = [one for one in memories if one not in self.named and one not in self.state]
        self.constants = [one for one in others if one.values is not None]
        self.arena = [one for one in others if one.values is None]
        self.stored = stored
        self.errors = store(lowered, self.constants, stored) if stored else {}
        straight = tuple(range(len(lowered.kernels)))
        self.nodes = straight if unroll else roll(lowered.kernels)
        self.has_loops = any(isinstance(node, Loop) for node in self.nodes)
        self.plans = [plan(lowered.kernels, self.arena, self.nodes)]
        if self.has_loops and self.plans[0].bytes > NEAR * self.plans[0].least:
            self.plans.append(plan(lowered.kernels, self.arena, straight))
        self.labels = {one.memory: names.of(one.name) for one in lowered.named}
        self.labels |= {one: f"{names.static}state_{i}" for i, one in enumerate(self.state)}
        self.labels |= {one: f"{names.static}constant_{i}" for i, one in enumerate(self.constants)}

    def files(self) -> tuple[dict[str, str], Sizes]:
        static = self.names.static
        calls = re.compile(rf"\b({FUNCTIONS})(?=\()")
        parts = {
            part: [line if line.lstrip().startswith("/*") else calls.sub(rf"{static}\1", line) for line in lines]
            for part, lines in self._parts().items()
        }
        code = "\n".join(line for lines in parts.values() for line in lines)
        sizes = self._sizes(len(code))
        helpers = {INDEX: "in_range", QUOTIENT: "quotient|rest", REST: "rest", HALF: "half"}
        arenas = [f"static {TYPES[dtype]} {static}arena_{dtype}[{size}];" for dtype, size in self.plan.sizes.items()]
        name = self.names.name
        source = SOURCE.format(
            name=name,
            sizes=sizes,
            named="\n".join(self._definition(one, "") for one in self.named),
            table=self._table(),
            state="\n".join(self._definition(one, "static ") for one in self.state),
            constants="\n".join(self._definition(one, "static const ") for one in self.constants),
            arenas="\n".join(arenas),
            tables=self.places.definitions(),
            helpers="".join(
                calls.sub(rf"{static}\1", text.format(name=name))
                for text, names in helpers.items()
                if re.search(rf"\b{static}({names})\(", code)
            ),
            **{part: "\n".join(INDENT + line for line in lines) for part, lines in parts.items()},
        )
        header = HEADER.format(
            name=name,
            guard=f"CLEW_{name.upper()}_H",
            sizes=sizes,
            tensors="\n".join(map(self._declaration, self.lowered.named)),
            count=len(self.named) + 1,
        )
        shown = [one for one in self.lowered.named if one.is_result and one.memory.size == 1]
        prints = "".join(
            f'        printf("  {one.name} %.9g", (double){self.labels[one.memory]}[0]);\n' for one in shown
        )
        main, makefile = self.names.examples
        return {
            f"{name}.c": source,
            f"{name}.h": header,
            makefile: MAKEFILE.format(name=name, main=self.names.main),
            main: MAIN.format(name=name, main=self.names.main, prints=prints),
        }, sizes

    def _sizes(self, statements: int) -> Sizes:
        named, state = _bytes(self.named), _bytes(self.state)
        unrolled = (self.unrolled_text, named + state + self.plan.least) if self.has_loops else None
        constants = sum(map(stored_bytes, self.constants)) + self.places.bytes
        return Sizes(named, state, self.plan.bytes, constants, statements, unrolled, self.stored, self.errors)

    def _parts(self) -> dict[str, list[str]]:
        """Places that advance regularly may take more RAM; then all are as without loops if that saves more than tables
        take.
        """
        best: tuple[Plan, Places, dict[str, list[str]]] | None = None
        for one in self.plans:
            self.plan = one
            self.places, self.unrolled_text = Places(self._address, self.names.static), 0
            parts = {part: self._part(part) for part in PARTS}
            if best is None or self.plan.bytes + self.places.bytes < best[0].bytes + best[1].bytes:
                best = self.plan, self.places, parts
        assert best is not None
        self.plan, self.places, parts = best
        return parts

    def _part(self, part: str) -> list[str]:
        return self._lines([one for one in self.nodes if self._first(one).origin.part == part], ())

    def _first(self, node: Loop | int) -> Kernel:
        while isinstance(node, Loop):
            node = node.body[0]
        return self.lowered.kernels[node]

    def _lines(self, nodes: Iterable[Loop | int], axes: tuple[Loop, ...]) -> list[str]:
        lines: list[str] = []
        before = ""
        for node in nodes:
            if isinstance(node, Loop):
                variable, before = f"n{len(axes)}", ""
                body = self._lines(node.body, (*axes, node))
                lines.append(f"for (long {variable} = 0; {variable} < {node.count}; ++{variable}) {{")
                lines += [*(INDENT + line for line in body), "}"]
                continue
            made = self.places.lines(self.lowered.kernels, node, axes)
            said = str(self.lowered.kernels[node].origin).replace("*/", "* /")
            if made and said != before:
                made.insert(0, f"/* {said} */")
                before = said
            self.unrolled_text += sum(len(line) + 1 for line in made) * math.prod(loop.count for loop in axes)
            lines += made
        return lines

    def _address(self, memory: Memory) -> tuple[str, int]:
        """The array in which it lies, and its first element there."""
        if memory in self.labels:
            return self.labels[memory], 0
        return f"{self.names.static}arena_{memory.dtype}", self.plan.places[memory]

    def _definition(self, memory: Memory, kind: str) -> str:
        label = self.labels[memory]
        if memory.stored is None:
            return _array(f"{kind}{TYPES[memory.dtype]} {label}", memory.begin(), memory.dtype)
        integers, scales = encoded(memory)
        made = _array(f"{kind}{element_type(memory)} {label}", integers, "int32")
        if scales is None:
            return made
        return f"{made}\n{_array(f'{kind}{TYPES[memory.dtype]} {label}_scales', scales, memory.dtype)}"

    def _table(self) -> str:
        """Of the named tensors, and the shapes that it refers to."""
        shapes = {
            one.shape: f"{self.names.static}shape_{'_'.join(map(str, one.shape))}"
            for one in self.lowered.named
            if one.shape
        }
        lines = [
            f"static const long {label}[{len(shape)}] = {{{', '.join(map(str, shape))}}};"
            for shape, label in shapes.items()
        ]
        rows = [
            f'{{"{one.name}", {self.labels[one.memory]}, {shapes.get(one.shape, "NULL")}, {len(one.shape)}, '
            f'"{one.memory.dtype}", {_bytes([one.memory])}}}'
            for one in self.lowered.named
        ]
        rows.append("{NULL, NULL, NULL, 0, NULL, 0}")
        head = f"const struct clew_tensor {self.names.name}_tensors[{len(rows)}] = {{\n{INDENT}"
        return "\n".join([*lines, head + f",\n{INDENT}".join(rows) + "};"])

    def _declaration(self, one: Named) -> str:
        size, label = max(one.memory.size, 1), self.labels[one.memory]
        kind = " and ".join(["input"] * one.is_input + ["result"] * one.is_result)
        said = f"{kind}, shape {list(one.shape)}" + f", {one.name}" * (label != f"{self.names.name}_{one.name}")
        return f"extern {TYPES[one.memory.dtype]} {label}[{size}]; /* {said} */"


def _array(name: str, values: numpy.ndarray[Any, Any], dtype: str) -> str:
    start = f"{name}[{max(values.size, 1)}] = {{"
    if not values.any() or values.size == 0:
        return start + "0};"
    texts = [literal(value, dtype) for value in values.tolist()]
    rows = [", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8)]
    return start + "\n" + ",\n".join(INDENT + row for row in rows) + "};"


def _bytes(memories: list[Memory]) -> int:
    return sum(memory.size * numpy.dtype(memory.dtype).itemsize for memory in memories)
