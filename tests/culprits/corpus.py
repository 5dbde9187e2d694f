"""The corpus: short programs that end in an error of the graph, and what must be named in each.

A program is a function of one argument, `torch`: clew, or PyTorch itself. It says what it expects twice: its decorator
names the node, the cause or the writer, and comments in its own source mark the lines (`# made`, `# freed`, `# saved`,
`# written`, `# lost`, `# where`), so that no line number is written down.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# What PyTorch does with the same program.
SAME = "the same error"  # without the lines
WRONG = "wrong gradient"  # no error; the program returns (its gradient, the right one)
NOT_FINITE = "infinite gradient"  # no error; the program returns the gradient

MARKS = {"made", "shared", "used", "freed", "saved", "written", "lost", "read", "where"}


@dataclass(frozen=True)
class Program:
    """One program and what must be named."""

    kind: str
    run: Callable[[Any], Any]
    fields: dict[str, Any]
    """Fields of the exception that are not lines: `node` (a name), `cause`, `written_by` ..."""
    in_torch: str
    lines: dict[str, int] = field(default_factory=dict)
    """From a mark to the line that carries it."""

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def file(self) -> str:
        return self.run.__code__.co_filename

    @property
    def source(self) -> str:
        """The program as the reader is to see it: without its decorator."""
        text = inspect.getsource(self.run)
        return text[text.index("def ") :]


def marked_lines(function: Callable[..., Any]) -> dict[str, int]:
    source, first = inspect.getsourcelines(function)
    found: dict[str, int] = {}
    for number, line in enumerate(source, first):
        marks = line.rpartition("#")[2].split() if "#" in line else []
        if not marks or not MARKS.issuperset(marks):
            continue
        for mark in marks:
            assert mark not in found, f"{function.__name__} marks two lines as {mark}"
            found[mark] = number
    return found


def program(in_torch: str = SAME, **fields: Any) -> Callable[[Callable[[Any], Any]], Program]:
    """Makes a function a program of the corpus; its kind is the name of its module."""

    def register(function: Callable[[Any], Any]) -> Program:
        return Program(function.__module__, function, fields, in_torch, marked_lines(function))

    return register


def programs_of(module: str) -> list[Program]:
    return [value for value in vars(sys.modules[module]).values() if isinstance(value, Program)]
