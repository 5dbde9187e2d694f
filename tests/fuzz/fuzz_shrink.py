"""Makes a program that differs smaller: fewer statements, then shorter ones."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from fuzz_session import Difference, run_program

BUDGET = 250  # programs


def shrink(found: Difference, allowed: Callable[[Difference], object] | None = None) -> Difference:
    """The smallest program found whose first difference is in the same aspect."""
    tries = 0

    def attempt(statements: list[str]) -> bool:
        nonlocal best, tries
        tries += 1
        if tries > BUDGET:
            return False
        now = run_program(statements, None, allowed)
        if now is None or now.aspect != best.aspect or now.program != statements[: len(now.program)]:
            return False
        if len("; ".join(now.program)) >= len("; ".join(best.program)):
            return False
        best = now
        return True

    best = found
    changed = True
    while changed and tries < BUDGET:
        changed = False
        for place in range(len(best.program) - 2, -1, -1):
            if place < len(best.program):
                changed |= attempt(best.program[:place] + best.program[place + 1 :])
        for place in range(len(best.program) - 1, -1, -1):
            if place >= len(best.program):
                continue
            for shorter in shortened(best.program[place]):
                if attempt([*best.program[:place], shorter, *best.program[place + 1 :]]):
                    changed = True
                    break
    return best


def shortened(statement: str) -> Iterator[str]:
    """The statement without a keyword, without a method call around a value, with one element of a list less."""
    tree = ast.parse(statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for place in range(len(node.keywords)):
                keyword = node.keywords.pop(place)
                yield ast.unparse(tree)
                node.keywords.insert(place, keyword)
        for field in ("value", "func"):
            inner = getattr(node, field, None)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                owner = inner.func.value
                if not isinstance(owner, ast.Name) or owner.id != "torch":
                    setattr(node, field, owner)
                    yield ast.unparse(tree)
                    setattr(node, field, inner)
        if isinstance(node, ast.List) and len(node.elts) > 1 and all(isinstance(one, ast.List) for one in node.elts):
            kept = node.elts
            node.elts = kept[:1]
            yield ast.unparse(tree)
            node.elts = kept
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value not in (1.0, 2.0, 0.0):
            kept_value = node.value
            node.value = 1.0
            yield ast.unparse(tree)
            node.value = kept_value
