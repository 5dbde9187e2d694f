"""The smallest repair of an error of the graph, as a change of the user's own lines."""

from __future__ import annotations

import ast
import difflib
import linecache
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ... import _core
from ...autograd.errors import GraphFreedError, InplaceError, NoGradError
from ..model.records import Site
from ..model.walk import walk
from ..program.loops import loops_around, statement_at


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


def repair_of(error: BaseException) -> Repair | None:
    """What can be written instead; None where no change of a line is likely to be right."""
    for kind, rules in _RULES.items():
        if isinstance(error, kind):
            found = (rule(error) for rule in rules)
            return next((repair for repair in found if repair is not None and repair.diff), None)
    return None


# A second backward ----------------------------------------------------------------------------------------------------


def _detach_what_is_carried_over(error: Any) -> Repair | None:
    """A value of an earlier iteration is used in the next: cut before it is used."""
    made, used, name = error.shared_at, error.used_at, error.shared_name
    if made is None or used is None or not re.fullmatch(r"[\w.]+", name or "") or not error._may_be_detached:
        return None
    is_later = (used.file, used.function) == (made.file, made.function) and used.line <= made.line
    if not is_later or not loops_around(used.file, used.line):
        return None
    return _inserted(f"{name} = {name}.detach()", used)


def _move_into_the_loop(error: Any) -> Repair | None:
    """A value that was made before a loop is run backward in each iteration: make it there."""
    made, used = error.shared_at, error.used_at
    if made is None or used is None or used.file != made.file:
        return None
    outside = [loop for loop in loops_around(used.file, used.line) if not loop.contains(made.line)]
    if not outside or outside[-1].first == outside[-1].head:  # none, or a `while`, whose body's first line is not told
        return None
    if any(_is_beside(node.made_at, made) for node in walk([error.node]) if node.released is not None):
        return None  # other lines would have to be moved, too
    statement = statement_at(made.file, made.line)
    if not isinstance(statement, ast.Assign) or statement.end_lineno != statement.lineno:
        return None
    text, first = _line(made.file, made.line), outside[-1].first
    body = _line(made.file, first)
    moved = f"{_indent(body)}{text.strip()}"
    where = f"{os.path.basename(made.file)}:{first}"
    return Repair(
        f"write `{text.strip()}` inside the loop, at {where}", made.file, {made.line: (), first: (moved, body)}
    )


def _is_beside(one: Site | None, made: Site) -> bool:
    """Whether it is another line of the same function."""
    return one is not None and (one.file, one.function) == (made.file, made.function) and one.line != made.line


def _retain(error: Any) -> Repair | None:
    """The call that freed the graph keeps it."""
    if error.freed_at is None or error.freed_by != "backward":
        return None
    return _replaced(error.freed_at, re.compile(r"\.backward\((.*)\)"), _with_retain_graph)


def _with_retain_graph(found: re.Match[str]) -> str:
    given = found.group(1)
    return f".backward({given}, retain_graph=True)" if given else ".backward(retain_graph=True)"


# A write in place -----------------------------------------------------------------------------------------------------


def _write_out_of_place(error: Any) -> Repair | None:
    """``h += m`` becomes ``h = h + m``, ``h.add_(m)`` becomes ``h = h.add(m)``."""
    site = error.written_at
    statement = None if site is None else statement_at(site.file, site.line)
    if statement is None or statement.end_lineno != statement.lineno or statement.lineno != site.line:
        return None
    new = None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name | ast.Attribute):
        target = ast.unparse(statement.target)
        value = ast.BinOp(ast.parse(target, mode="eval").body, statement.op, statement.value)
        new = f"{target} = {ast.unparse(value)}"
    elif isinstance(statement, ast.Expr) and (call := _call_in_place(statement.value)) is not None:
        target = ast.unparse(call.func.value)  # type: ignore[attr-defined]
        if target.isidentifier():
            call.func.attr = call.func.attr[:-1]  # type: ignore[attr-defined]
            new = f"{target} = {ast.unparse(call)}"
    if new is None:
        return None
    return Repair(_written(new, site), site.file, {site.line: (_indent(_line(site.file, site.line)) + new,)})


def _call_in_place(value: ast.expr) -> ast.Call | None:
    """``h.add_(m)``: a call of a method whose name ends in one underscore."""
    is_call = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    name = value.func.attr if is_call else ""  # type: ignore[attr-defined]
    if not re.fullmatch(r"[a-z]\w*[a-z0-9]_", name) or not hasattr(_core.Tensor, name[:-1]):
        return None
    return value  # type: ignore[return-value]


def _clone_before_the_write(error: Any) -> Repair | None:
    """``h[0] = v`` writes into a copy."""
    site = error.written_at
    statement = None if site is None else statement_at(site.file, site.line)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    target = targets[0] if len(targets) == 1 else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name | ast.Attribute):
        return None
    name = ast.unparse(target.value)
    return _inserted(f"{name} = {name}.clone()", site)


# A lost history -------------------------------------------------------------------------------------------------------


def _leave_out_what_cuts(error: Any) -> Repair | None:
    pattern = {"detach": r"\.detach\(\)", "data": r"\.data\b"}.get(error.cause)
    if error.lost_at is None or pattern is None or "numpy" in _line(error.lost_at.file, error.lost_at.line):
        return None
    return _replaced(error.lost_at, re.compile(pattern), lambda _: "")


# Lines ----------------------------------------------------------------------------------------------------------------


def _inserted(new: str, site: Site) -> Repair:
    line = _line(site.file, site.line)
    where = f"{os.path.basename(site.file)}:{site.line}"
    return Repair(f"write `{new}` before {where}", site.file, {site.line: (_indent(line) + new, line)})


def _replaced(site: Site, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> Repair | None:
    """The line with the one thing in it replaced; None if it is there more than once, or not at all."""
    line = _line(site.file, site.line)
    if len(pattern.findall(line)) != 1:
        return None
    changed = pattern.sub(new, line)
    return Repair(_written(changed.strip(), site), site.file, {site.line: (changed,)})


def _written(text: str, site: Site) -> str:
    return f"write `{text}` at {os.path.basename(site.file)}:{site.line}"


def _line(file: str, number: int) -> str:
    return linecache.getline(file, number).rstrip("\n")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


_RULES: dict[type[BaseException], tuple[Callable[[Any], Repair | None], ...]] = {
    GraphFreedError: (_detach_what_is_carried_over, _move_into_the_loop, _retain),
    InplaceError: (_write_out_of_place, _clone_before_the_write),
    NoGradError: (_leave_out_what_cuts,),
}


Party = tuple[str, str, int, str]  # what happened, and in which file, line and function


def parties_of(error: BaseException) -> Iterator[Party]:
    """The lines that an error is about, each once."""
    found: dict[tuple[str, int, str], list[str]] = {}
    for name, what in _PARTIES.items():
        site = getattr(error, name, None)
        if site is not None:
            said = found.setdefault((site.file, site.line, site.function), [])
            if not said or what not in ("made here", *said):  # what was saved here was made here, too
                said.append(what)
    for (file, line, function), said in found.items():
        yield ", ".join(said), file, line, function


_PARTIES = {
    "saved_at": "saved here",
    "shared_at": "made here",
    "made_at": "made here",
    "written_at": "written here",
    "used_at": "used again here",
    "freed_at": "freed here",
    "lost_at": "history lost here",
    "number_read_at": "read as a number here",
    "through_where": "not chosen here",
}
