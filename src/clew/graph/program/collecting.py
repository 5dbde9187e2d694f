"""Where a source file puts values into a collection."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

_ADDING = frozenset({"append", "appendleft", "add", "extend", "insert", "setdefault", "update"})


def lines_that_collect(file: str, path: str) -> list[tuple[int, str]]:
    """The lines, and their functions, that add to ``path`` or set an item of it; none if the source cannot be had.

    ``meter.losses`` may be called ``self.losses`` there.

    Example:
        >>> lines_that_collect("no such file", "losses")
        []
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    names = {path, f"self.{path.rpartition('.')[2]}"} if "." in path else {path}
    return [(node.lineno, function) for node, function in _within(tree, "") if ast.unparse(_target(node)) in names]


def _within(node: ast.AST, function: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """What adds to something, and the qualified name of the function around it."""
    for child in ast.iter_child_nodes(node):
        inner = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{function}{child.name}.<locals>."
        elif isinstance(child, ast.ClassDef):
            inner = f"{function}{child.name}."
        if isinstance(child, ast.Call | ast.Assign) and not isinstance(_target(child), ast.Constant):
            yield child, function.removesuffix(".<locals>.") or "<module>"
        yield from _within(child, inner)


def _target(node: ast.AST) -> ast.expr:
    """``losses`` of ``losses.append(x)`` and of ``losses[i] = x``; a constant where nothing is added."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
        return node.func.value
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0].value
    return ast.Constant(None)
