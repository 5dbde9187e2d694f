"""The loops of the user's source, for sentences such as "made outside the loop at line 12"."""

from __future__ import annotations

import ast
import linecache
from typing import NamedTuple


class Loop(NamedTuple):
    """The lines of a `for` or `while` statement, from its head to the end of its body."""

    first: int
    last: int


def loops_around(file: str, line: int) -> list[Loop]:
    """The loops of a source file that contain a line, outermost first; none if the source cannot be had.

    Loops around a function do not contain its lines: the body of a function runs when it is called.

    >>> loops_around("no such file", 3)
    []
    """
    source = "".join(linecache.getlines(file))
    try:
        node: ast.AST = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    found: list[Loop] = []
    while True:
        inside = _below(node, line)
        if inside is None:
            return found
        node = inside
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            found.append(Loop(node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found.clear()


def _below(node: ast.AST, line: int) -> ast.AST | None:
    """The part of the tree right below that contains the line."""
    for child in ast.iter_child_nodes(node):
        first, last = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
        if first is not None and last is not None and first <= line <= last:
            return child
    return None
