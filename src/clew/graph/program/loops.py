"""What the user's source says about a line: the loops around it, and what the statement on it assigns to."""

from __future__ import annotations

import ast
import functools
import linecache
from typing import NamedTuple


class Loop(NamedTuple):
    """A `for` or `while` statement: the line of its head, and the lines that run in each iteration.

    The head of a `while` runs in each iteration, that of a `for` once. What follows `else` is outside.
    """

    head: int
    first: int
    last: int

    def contains(self, line: int) -> bool:
        """Whether the line runs in each iteration."""
        return self.first <= line <= self.last


def loops_around(file: str, line: int) -> list[Loop]:
    """The loops of a source file that contain a line, outermost first; none if the source cannot be had.

    Loops around a function do not contain its lines: the body of a function runs when it is called.

    Example:
        >>> loops_around("no such file", 3)
        []
    """
    found: list[Loop] = []
    for node in _path_to(file, line):
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            body, end = node.body[0].lineno, node.body[-1].end_lineno
            loop = Loop(node.lineno, node.lineno if isinstance(node, ast.While) else body, end or body)
            if loop.contains(line):
                found.append(loop)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found.clear()
    return found


def statement_at(file: str, line: int) -> ast.stmt | None:
    """The innermost statement that a line is in; None if the source cannot be had.

    Example:
        >>> statement_at("no such file", 3) is None
        True
    """
    return next((node for node in reversed(_path_to(file, line)) if isinstance(node, ast.stmt)), None)


def statements_between(file: str, line: int, other: int) -> list[ast.stmt]:
    """The statements of one block from the one that `line` is in to the one that the later line `other` is in.

    None if no block has both, in two statements.

    Example:
        >>> statements_between("no such file", 3, 5)
        []
    """
    tree = _parse("".join(linecache.getlines(file)))
    parents = [] if tree is None else [tree, *_path_to(file, line)]
    for parent in reversed(parents):
        for block in (getattr(parent, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(block, list):
                continue
            places = [
                next((at for at, one in enumerate(block) if _contains(one, wanted)), -1) for wanted in (line, other)
            ]
            if 0 <= places[0] < places[1]:
                return block[places[0] : places[1] + 1]
    return []


def imported(file: str) -> set[str]:
    """The names that a source file gives to what it imports.

    Example:
        >>> imported("no such file")
        set()
    """
    tree = _parse("".join(linecache.getlines(file)))
    found = [node for node in ast.walk(tree or ast.Module([], [])) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(alias.asname or alias.name).partition(".")[0] for node in found for alias in node.names}


def assigned_at(file: str, line: int) -> str | None:
    """The name or attribute that the statement on a line assigns a single value to: "h", "self.state"; of several, as
    in `out, h = cell(x, h)`, the one that it reads, too. None if it does something else, or the source cannot be had.

    Example:
        >>> assigned_at("no such file", 3) is None
        True
    """
    for node in reversed(_path_to(file, line)):
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            target = node.target
        elif isinstance(node, ast.stmt):
            return None
        else:
            continue
        if isinstance(target, ast.Tuple | ast.List) and node.value is not None:
            read = {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, ast.Name | ast.Attribute)}
            again = [one for one in target.elts if ast.unparse(one) in read]
            target = again[0] if len(again) == 1 else target
        return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else None
    return None


def step_called_at(file: str, line: int) -> str | None:
    """The call of a method `step` in the statement on a line, as of an optimizer: "self.optimizer.step()".

    Example:
        >>> step_called_at("no such file", 3) is None
        True
    """
    statement = statement_at(file, line)
    for node in ast.walk(statement) if statement is not None and not hasattr(statement, "body") else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step":
            return f"{ast.unparse(node.func)}()"
    return None


def _path_to(file: str, line: int) -> list[ast.AST]:
    """The parts of the file's tree that contain the line, from the outermost in."""
    found: list[ast.AST] = []
    node: ast.AST | None = _parse("".join(linecache.getlines(file)))
    while node is not None:
        node = next((child for child in ast.iter_child_nodes(node) if _contains(child, line)), None)
        if node is not None:
            found.append(node)
    return found


def _contains(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return first is not None and last is not None and first <= line <= last


@functools.lru_cache(maxsize=8)
def _parse(source: str) -> ast.AST | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None
