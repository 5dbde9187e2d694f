"""The smallest repair of an error of the graph, as a change of the user's own lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from ...autograd.errors import GraphFreedError, InplaceError, NoGradError
from ..model.records import Site
from ..model.walk import walk
from ..program.loops import loops_around, statement_at
from . import writes
from .edits import Repair, appended, indent_of, inserted, line_at, replaced, where


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
    if error._carried is not None:
        return appended(error._carried.detach, error._carried.file, error._carried.first, error._carried.last)
    made, used, name = error.shared_at, error.used_at, error.shared_name
    if made is None or used is None or not re.fullmatch(r"[\w.]+", name or "") or not error._may_be_detached:
        return None
    is_later = (used.file, used.function) == (made.file, made.function) and used.line <= made.line
    if not is_later or not loops_around(used.file, used.line):
        return None
    return inserted(f"{name} = {name}.detach()", used)


def _detach_what_is_carried(error: Any) -> Repair | None:
    """The same of a write by an optimizer's step."""
    return _detach_what_is_carried_over(error) if error._carried is not None else None


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
    text, first = line_at(made.file, made.line), outside[-1].first
    body = line_at(made.file, first)
    title = f"write `{text.strip()}` inside the loop, at {where(made.file, first)}"
    return Repair(title, made.file, {made.line: (), first: (f"{indent_of(body)}{text.strip()}", body)})


def _is_beside(one: Site | None, made: Site) -> bool:
    """Whether it is another line of the same function."""
    return one is not None and (one.file, one.function) == (made.file, made.function) and one.line != made.line


def _retain(error: Any) -> Repair | None:
    """The call that freed the graph keeps it."""
    if error.freed_at is None or error.freed_by != "backward" or not error._may_be_retained:
        return None
    return replaced(error.freed_at.file, error.freed_at.line, re.compile(r"\.backward\((.*)\)"), _with_retain_graph)


def _with_retain_graph(found: re.Match[str]) -> str:
    given = found.group(1)
    return f".backward({given}, retain_graph=True)" if given else ".backward(retain_graph=True)"


# A lost history -------------------------------------------------------------------------------------------------------


def _leave_out_what_cuts(error: Any) -> Repair | None:
    pattern = {"detach": r"\.detach\(\)", "data": r"\.data\b"}.get(error.cause)
    if error.lost_at is None or pattern is None or "numpy" in line_at(error.lost_at.file, error.lost_at.line):
        return None
    return replaced(error.lost_at.file, error.lost_at.line, re.compile(pattern), lambda _: "")


_RULES: dict[type[BaseException], tuple[Callable[[Any], Repair | None], ...]] = {
    GraphFreedError: (_detach_what_is_carried_over, _move_into_the_loop, _retain),
    InplaceError: (_detach_what_is_carried, *writes.RULES),
    NoGradError: (_leave_out_what_cuts,),
    RuntimeError: (writes.under_no_grad,),
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
