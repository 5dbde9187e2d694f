"""A program as C11: loops over fixed memory, no dependency but libm."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from .c_kernels import INDENT, TYPES, literal, loops
from .c_texts import EXAMPLES, FAILED, HEADER, INDEX, MAIN, MAKEFILE, QUOTIENT, RESERVED, REST, SOURCE
from .layout import Memory
from .lower import PARTS, Lowered, Named, lower
from .schedule import plan

if TYPE_CHECKING:
    from ..program import Program


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
    """Read only."""

    @property
    def ram(self) -> int:
        return self.named + self.state + self.arena

    def __str__(self) -> str:
        return (
            f"{self.ram} bytes of RAM ({self.named} named, {self.state} state, {self.arena} arena), "
            f"{self.constants} bytes of constants"
        )


def to_c(program: Program, folder: str | os.PathLike[str], overwrite: bool) -> Sizes:
    identifiers = _identifiers(program)
    lowered = lower(program, "to_c")
    files, sizes = _Source(lowered, identifiers).files()
    _write(Path(folder), {name: _stamped(name, text) for name, text in files.items()}, overwrite)
    return sizes


def _write(folder: Path, files: dict[str, str], overwrite: bool) -> None:
    """What somebody else has written stays: an example that was edited, and anything else by an error."""
    others = set() if overwrite else {name for name in files if _is_of_others(folder / name)}
    if refused := sorted(others - set(EXAMPLES)):
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
            "changed. Check that they still match program.h, or pass overwrite=True",
            stacklevel=4,
        )


def _stamped(name: str, text: str) -> str:
    """With a first line that tells later whether the rest was edited."""
    made = f"Made by clew's to_c; {hashlib.sha256(text.encode()).hexdigest()[:16]} tells whether it was edited since."
    return (f"# {made}\n" if name == "Makefile" else f"/* {made} */\n") + text


def _is_of_others(path: Path) -> bool:
    if not path.exists():
        return False
    text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
    return text != _stamped(path.name, text.partition("\n")[2])


def _identifiers(program: Program) -> dict[str, str]:
    """What names are in C: "layer.weight" becomes layer_weight."""
    found: dict[str, str] = {}
    for name in program._names:
        identifier = name.replace(".", "_")
        if not (f"_{identifier}".isidentifier() and name.isascii()):
            raise ValueError(
                f"to_c: expected names of letters, digits, _ and dots, got {name!r}; name the tensor otherwise"
            )
        if identifier in RESERVED:
            raise ValueError(
                f"to_c: program_{identifier} is taken by the program itself; take another name than {name!r}"
            )
        if other := next((one for one, taken in found.items() if taken == identifier), None):
            raise ValueError(
                f"to_c: expected names that differ in C, got {other!r} and {name!r}, which are both "
                f"program_{identifier}; name one of the tensors otherwise"
            )
        found[name] = identifier
    return found


class _Source:
    def __init__(self, lowered: Lowered, identifiers: dict[str, str]) -> None:
        self.lowered = lowered
        self.identifiers = identifiers
        memories = lowered.memories()
        self.named = [one.memory for one in lowered.named]
        self.state = [one for one in memories if one in lowered.kept and one.name is None]
        others = [one for one in memories if one not in self.named and one not in self.state]
        self.constants = [one for one in others if one.values is not None]
        self.arena = [one for one in others if one.values is None]
        self.plan = plan(lowered.kernels, self.arena)
        self.labels = {one.memory: f"program_{identifiers[one.name]}" for one in lowered.named}
        self.labels |= {one: f"state_{i}" for i, one in enumerate(self.state)}
        self.labels |= {one: f"constant_{i}" for i, one in enumerate(self.constants)}

    def files(self) -> tuple[dict[str, str], Sizes]:
        sizes = Sizes(_bytes(self.named), _bytes(self.state), self._arena_bytes(), _bytes(self.constants))
        parts = {part: self._part(part) for part in PARTS}
        code = "\n".join(line for lines in parts.values() for line in lines)
        helpers = {INDEX: "in_range", QUOTIENT: "quotient|rest", REST: "rest"}
        arenas = [f"static {TYPES[dtype]} arena_{dtype}[{size}];" for dtype, size in self.plan.sizes.items()]
        source = SOURCE.format(
            sizes=sizes,
            named="\n".join(self._definition(one, "") for one in self.named),
            state="\n".join(self._definition(one, "static ") for one in self.state),
            constants="\n".join(self._definition(one, "static const ") for one in self.constants),
            arenas="\n".join(arenas),
            helpers="".join(text for text, names in helpers.items() if re.search(rf"\b({names})\(", code)),
            **{part: "\n".join(INDENT + line for line in lines) for part, lines in parts.items()},
        )
        header = HEADER.format(sizes=sizes, tensors="\n".join(map(self._declaration, self.lowered.named)))
        shown = [one for one in self.lowered.named if one.is_result and one.memory.size == 1]
        prints = "".join(
            f'        printf("  {one.name} %.9g", (double){self.labels[one.memory]}[0]);\n' for one in shown
        )
        return {
            "program.c": source,
            "program.h": header,
            "Makefile": MAKEFILE,
            "main.c": MAIN.format(prints=prints, failed=FAILED),
        }, sizes

    def _arena_bytes(self) -> int:
        return sum(size * numpy.dtype(dtype).itemsize for dtype, size in self.plan.sizes.items())

    def _part(self, part: str) -> list[str]:
        lines: list[str] = []
        before = ""
        for kernel in self.lowered.kernels:
            if kernel.origin.part != part:
                continue
            made = loops(kernel, self._place)
            said = str(kernel.origin).replace("*/", "* /")
            if made and said != before:
                lines.append(f"/* {said} */")
                before = said
            lines += made
        return lines

    def _place(self, memory: Memory, index: str) -> str:
        if memory in self.labels:
            return f"{self.labels[memory]}[{index}]"
        place = self.plan.places[memory]
        return f"arena_{memory.dtype}[{place} + {index}]" if place else f"arena_{memory.dtype}[{index}]"

    def _definition(self, memory: Memory, kind: str) -> str:
        values = memory.begin()
        start = f"{kind}{TYPES[memory.dtype]} {self.labels[memory]}[{max(memory.size, 1)}] = {{"
        if not values.any() or values.size == 0:
            return start + "0};"
        texts = [literal(value, memory.dtype) for value in values.tolist()]
        rows = [", ".join(texts[i : i + 8]) for i in range(0, len(texts), 8)]
        return start + "\n" + ",\n".join(INDENT + row for row in rows) + "};"

    def _declaration(self, one: Named) -> str:
        size = max(one.memory.size, 1)
        kind = " and ".join(["input"] * one.is_input + ["result"] * one.is_result)
        said = f"{kind}, shape {list(one.shape)}" + f", {one.name}" * (one.name != self.identifiers[one.name])
        return f"extern {TYPES[one.memory.dtype]} {self.labels[one.memory]}[{size}]; /* {said} */"


def _bytes(memories: list[Memory]) -> int:
    return sum(memory.size * numpy.dtype(memory.dtype).itemsize for memory in memories)
