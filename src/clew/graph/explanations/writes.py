"""The smallest repair where something was modified in place."""

from __future__ import annotations

import ast
import linecache
import re
from typing import Any

from ... import _core
from ..program.loops import imported, statement_at, statements_between
from .edits import Repair, indent_of, inserted, line_at, moved, replaced, rewritten, where
from .failures import raised_at


def _compute_after_the_step(error: Any) -> Repair | None:
    """``loss = model(x)`` moves to below the ``optimizer.step()`` that writes the weights which it saved."""
    made, site = error.made_at, error.written_at
    if not _is_step(error) or made is None:
        return None
    computing = statements_between(site.file, made.line, site.line)
    if len(computing) < 2 or not isinstance(computing[0], ast.Assign) or made.file != site.file:
        return None
    results = {name for target in computing[0].targets for name in _names(target)}
    if any(results & _names(statement) for statement in computing[1:]):
        return None
    return _moved(site.file, computing[0], computing[-1])


def _write_after_the_backward(error: Any) -> Repair | None:
    """``optimizer.step()``, or a write to what nothing needs before, moves to below the backward that failed."""
    site, raised = error.written_at, raised_at(error)
    if site is None or raised is None or site.file != raised.file:
        return None
    statements = statements_between(site.file, site.line, raised.line)
    if not statements:
        return None
    written, *rest = statements
    is_block = isinstance(written, ast.With) and len(written.body) == 1
    if not is_block and not isinstance(written, ast.Expr | ast.Assign | ast.AugAssign):
        return None
    root = re.split(r"[.\[:]", error.tensor_name or "")[0]
    if not _is_step(error) and (not root or any(root in _names(statement) for statement in rest)):
        return None
    return _moved(site.file, written, rest[-1])


def _write_of_its_own_kind(error: Any) -> Repair | None:
    """The same for steps of optimizers and for what stands under ``no_grad()``: it is meant to write in place."""
    site = error.written_at
    if site is None or not (_is_step(error) or "no_grad" in line_at(site.file, site.line - 1)):
        return None
    return _write_after_the_backward(error)


def _write_out_of_place(error: Any) -> Repair | None:
    """``h += m`` becomes ``h = h + m``, ``h.add_(m)`` becomes ``h = h.add(m)``; ``f(x, out=h)`` is ``h = f(x)``."""
    site = error.written_at
    statement = None if site is None else statement_at(site.file, site.line)
    if statement is None or statement.end_lineno != statement.lineno or statement.lineno != site.line:
        return None
    new = None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name | ast.Attribute):
        target = ast.unparse(statement.target)
        value = ast.BinOp(ast.parse(target, mode="eval").body, statement.op, statement.value)
        new = f"{target} = {ast.unparse(value)}"
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        new = _into_its_argument(statement.value) or _into_itself(statement.value, imported(site.file))
    return None if new is None else rewritten(new, site.file, site.line)


def _into_its_argument(call: ast.Call) -> str | None:
    """``mul(a, b, out=h)``."""
    targets = [word.value for word in call.keywords if word.arg == "out"]
    if len(targets) != 1 or not _is_path(targets[0]):
        return None
    others = [word for word in call.keywords if word.arg != "out"]
    return f"{ast.unparse(targets[0])} = {ast.unparse(ast.Call(call.func, call.args, others))}"


def _into_itself(call: ast.Call, modules: set[str]) -> str | None:
    """``h.add_(m)``, or ``torch.relu_(h)``: its name ends in one underscore."""
    if not isinstance(call.func, ast.Attribute):
        return None
    name = call.func.attr
    if not re.fullmatch(r"[a-z]\w*[a-z0-9]_", name) or not hasattr(_core.Tensor, name[:-1]):
        return None
    is_function = bool(_names(call.func) & modules)
    target = (call.args[0] if call.args else None) if is_function else call.func.value
    if target is None or not _is_path(target):
        return None
    pure = ast.Call(ast.Attribute(call.func.value, name[:-1]), call.args, call.keywords)
    return f"{ast.unparse(target)} = {ast.unparse(pure)}"


def _clone_before_the_write(error: Any) -> Repair | None:
    """``h[0] = v`` writes into a copy."""
    site = error.written_at
    statement = None if site is None else statement_at(site.file, site.line)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    target = targets[0] if len(targets) == 1 else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name | ast.Attribute):
        return None
    name = ast.unparse(target.value)
    return inserted(f"{name} = {name}.clone()", site)


def _clone_what_a_view_is_of(error: Any) -> Repair | None:
    """``h.t()[0].zero_()`` writes into a copy of ``h``."""
    site, name = error.written_at, error.tensor_name
    statement = None if site is None else statement_at(site.file, site.line)
    if not isinstance(statement, ast.Expr) or statement.lineno != site.line or name not in _names(statement):
        return None
    return inserted(f"{name} = {name}.clone()", site)


def _layer_out_of_place(error: Any) -> Repair | None:
    """A layer that writes in place, if the file that calls it makes one only."""
    site = error.written_at
    if site is None:
        return None
    pattern = re.compile(r"(, *)?\binplace=True\b")
    lines = [number for number, line in enumerate(linecache.getlines(site.file), 1) if pattern.search(line)]
    return replaced(site.file, lines[0], pattern, lambda _: "") if len(lines) == 1 else None


def under_no_grad(error: BaseException) -> Repair | None:
    """A leaf is written: ``with torch.no_grad():`` around the statement."""
    raised = raised_at(error)
    if raised is None or "leaf Variable that requires grad is being used in an in-place" not in str(error):
        return None
    statement = statement_at(raised.file, raised.line)
    module = next(iter(sorted(imported(raised.file) & {"torch", "clew"}, reverse=True)), None)
    if module is None or not isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign):
        return None
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    lines = [line_at(raised.file, number) for number in range(first, last + 1)]
    opening = f"with {module}.no_grad():"
    changes: dict[int, tuple[str, ...]] = {first + at: (f"    {line}",) for at, line in enumerate(lines)}
    changes[first] = (indent_of(lines[0]) + opening, *changes[first])
    return Repair(f"write `{opening}` before {where(raised.file, first)}", raised.file, changes)


RULES = (
    _compute_after_the_step,
    _write_of_its_own_kind,
    _write_out_of_place,
    _clone_before_the_write,
    _write_after_the_backward,
    _clone_what_a_view_is_of,
    _layer_out_of_place,
)


def _is_step(error: Any) -> bool:
    return error.written_at is not None and (error.written_by or "").endswith("_step")


def _moved(file: str, statement: ast.stmt, below: ast.stmt) -> Repair:
    return moved(file, statement.lineno, statement.end_lineno or statement.lineno, below.end_lineno or below.lineno)


def _names(part: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}


def _is_path(part: ast.expr) -> bool:
    """``h``, ``self.h``, ``h.data``."""
    return isinstance(part, ast.Name) or (isinstance(part, ast.Attribute) and _is_path(part.value))
