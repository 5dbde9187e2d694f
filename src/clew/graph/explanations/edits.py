"""Changes of a user's lines: what is to stand there instead."""

from __future__ import annotations

import difflib
import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass

from ..._cells import place_text
from ..model.records import Site


@dataclass(frozen=True, slots=True)
class Repair:
    """Lines of a file, numbered from 1, and what is to stand there instead.

    ``title`` says it in one line: ``write `h = h + m` at gpt.py:37``.
    """

    title: str
    file: str
    changes: dict[int, tuple[str, ...]]

    @property
    def diff(self) -> str:
        """The change as a unified diff, with a line around it; empty if the file cannot be read any more."""
        before = [line.rstrip("\n") for line in linecache.getlines(self.file)]
        after = [new for number, line in enumerate(before, 1) for new in self.changes.get(number, (line,))]
        lines = difflib.unified_diff(before, after, n=1, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def inserted(new: str, site: Site) -> Repair:
    """A line before another."""
    line = line_at(site.file, site.line)
    return Repair(
        f"write `{new}` before {where(site.file, site.line)}", site.file, {site.line: (indent_of(line) + new, line)}
    )


def appended(new: str, file: str, first: int, last: int) -> Repair:
    """A line after the statement that has these lines."""
    changes: dict[int, tuple[str, ...]] = {last: (line_at(file, last), indent_of(line_at(file, first)) + new)}
    return Repair(f"write `{new}` after {where(file, last)}", file, changes)


def replaced(file: str, line: int, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> Repair | None:
    """The line with the one thing in it replaced; None if it is there more than once, or not at all."""
    text = line_at(file, line)
    return rewritten(pattern.sub(new, text).strip(), file, line) if len(pattern.findall(text)) == 1 else None


def rewritten(text: str, file: str, line: int) -> Repair:
    """A line with another text."""
    title = f"write `{text}` at {where(file, line)}"
    return Repair(title, file, {line: (indent_of(line_at(file, line)) + text,)})


def moved(file: str, first: int, last: int, after: int) -> Repair:
    """Lines that stand further down instead, after the line ``after``."""
    lines = [line_at(file, number) for number in range(first, last + 1)]
    what = f"`{lines[0].strip()}`" + (" and what belongs to it" if last > first else "")
    changes: dict[int, tuple[str, ...]] = dict.fromkeys(range(first, last + 1), ())
    changes[after] = (line_at(file, after), *lines)
    return Repair(f"move {what} from {where(file, first)} to after line {after}", file, changes)


def where(file: str, line: int) -> str:
    """
    Example:
        >>> where("/home/me/train.py", 12)
        'train.py:12'
    """
    return place_text(file, line)


def line_at(file: str, number: int) -> str:
    """The text of a line, without its end."""
    return linecache.getline(file, number).rstrip("\n")


def indent_of(line: str) -> str:
    """The blanks that it begins with."""
    return line[: len(line) - len(line.lstrip())]
