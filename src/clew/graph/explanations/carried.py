"""A value that one iteration of a loop makes and the next one uses: what the loop calls it, and how to detach it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any, NamedTuple

from ..._core import Node, Tensor
from ..program.frames import is_installed, scopes_of, variables
from ..program.loops import Loop, loops_around, statement_at
from ..program.names import find_tensors

_ATTRIBUTE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(\[.+\])?")


class Carried(NamedTuple):
    """A variable of a running loop, or an attribute of an object that the loop calls."""

    name: str
    """Of several variables that the same operation made: "h, c"."""
    head: int
    """The line of the loop."""
    detach: str
    """The statement that detaches it."""
    file: str
    first: int
    last: int
    """The lines of the statement after which it belongs."""


def carried_over(shared: Node, outputs: set[int], frames: list[FrameType], most_objects: int) -> Carried | None:
    """What the innermost running loop calls the value that a node made in an earlier iteration.

    The loop has another value of that name by now: one that the same line made, or the same value, if its function has
    not returned yet.

    Args:
        shared: the node.
        outputs: which of its outputs were used; none if that is not known.
        frames: the running functions, innermost first.
        most_objects: how many objects a search for an attribute may look at.
    """

    def is_value(one: object) -> bool:
        if not isinstance(one, Tensor) or one._held_node is None:
            return False
        return (not outputs or one.output_nr in outputs) and _made_alike(one._held_node, shared)

    for frame in frames:
        file = frame.f_code.co_filename
        if is_installed(file):
            continue
        for loop in reversed(loops_around(file, frame.f_lineno)):
            found = _of_variables(frame, loop, is_value) or _of_attribute(frame, loop, shared, is_value, most_objects)
            if found is not None:
                return found
    return None


def _made_alike(one: Node, other: Node) -> bool:
    here, there = one.made_at, other.made_at
    if here is None or there is None or one.name() != other.name():
        return one == other
    return (here.file, here.line, here.function) == (there.file, there.line, there.function)


def _of_variables(frame: FrameType, loop: Loop, is_value: Any) -> Carried | None:
    head = statement_at(frame.f_code.co_filename, loop.head)
    if not isinstance(head, ast.For | ast.AsyncFor | ast.While):
        return None
    names, detached = [], []
    for name, value in variables(frame).items():
        if any(map(is_value, _parts(value))) and _is_read_first(head.body, name) and _writes(head.body, name):
            names.append(name)
            detached.append(_detached(name, value))
    if not names or None in detached:
        return None
    after = _statement_after(frame, head.body, names)
    if after is None:
        return None
    detach = f"{', '.join(names)} = {', '.join(str(one) for one in detached)}"
    last = after.end_lineno or after.lineno
    return Carried(", ".join(names), loop.head, detach, frame.f_code.co_filename, after.lineno, last)


def _of_attribute(frame: FrameType, loop: Loop, shared: Node, is_value: Any, most_objects: int) -> Carried | None:
    after = statement_at(frame.f_code.co_filename, frame.f_lineno)
    if after is None or isinstance(after, ast.Return):
        return None
    scopes = scopes_of([frame])
    for path, tensor in find_tensors(scopes, most_objects=most_objects):
        found = _ATTRIBUTE.fullmatch(path)
        if found is None or not is_value(tensor) or tensor._held_node == shared:
            continue
        name = found.group(1)
        value: Any = next((scope[name.partition(".")[0]] for scope in scopes if name.partition(".")[0] in scope), None)
        for part in name.split(".")[1:]:
            value = getattr(value, part, None)
        detached = _detached(name, value)
        if detached is not None:
            last = after.end_lineno or after.lineno
            file = frame.f_code.co_filename
            return Carried(name, loop.head, f"{name} = {detached}", file, after.lineno, last)
    return None


def _parts(value: Any) -> Iterable[object]:
    if type(value) in (tuple, list):
        return tuple(value)
    return tuple(value.values()) if type(value) is dict else (value,)


def _detached(name: str, value: object) -> str | None:
    """The value without history, as an expression; None where that is not simple."""
    if isinstance(value, Tensor):
        return f"{name}.detach()"
    if not all(isinstance(one, Tensor) for one in _parts(value)):
        return None
    of_kind: dict[type, str] = {
        tuple: f"tuple(one.detach() for one in {name})",
        list: f"[one.detach() for one in {name}]",
        dict: f"{{key: one.detach() for key, one in {name}.items()}}",
    }
    return of_kind.get(type(value))


def _statement_after(frame: FrameType, body: list[ast.stmt], names: list[str]) -> ast.stmt | None:
    """The statement that runs the backward, or the last one of the loop that assigns to one of the names after it."""
    running = [at for at, one in enumerate(body) if one.lineno <= frame.f_lineno <= (one.end_lineno or one.lineno)]
    written = [at for at, one in enumerate(body) if any(_writes([one], name) for name in names)]
    if running and max(written, default=-1) > running[0]:
        return body[max(written)]
    found = statement_at(frame.f_code.co_filename, frame.f_lineno)
    return None if isinstance(found, ast.Return) else found


def _is_read_first(block: list[ast.stmt], name: str) -> bool | None:
    """Whether an iteration reads the variable before it assigns to it; None if it does neither for sure."""
    for statement in block:
        blocks = [part for part in (getattr(statement, key, None) for key in _BLOCKS) if isinstance(part, list)]
        if not blocks:
            if _reads([statement], name):
                return True
            if _writes([statement], name):
                return False
            continue
        within = {id(one) for part in blocks for one in part}
        header = [child for child in ast.iter_child_nodes(statement) if id(child) not in within]
        if _reads(header, name):
            return True
        if _writes(header, name):
            return False
        found = [_is_read_first(part, name) for part in blocks]
        if True in found:
            return True
        if found[0] is False and isinstance(statement, ast.With | ast.AsyncWith):
            return False
    return None


_BLOCKS = ("body", "orelse", "finalbody")


def _reads(parts: Iterable[ast.AST], name: str) -> bool:
    return any(
        (isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load))
        or (isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name) and one.target.id == name)
        for one in _all_in(parts)
    )


def _writes(parts: Iterable[ast.AST], name: str) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in _all_in(parts)
    )


def _all_in(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return (one for part in parts for one in ast.walk(part))
