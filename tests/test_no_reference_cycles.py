"""What a call of ours made is freed with its results, by reference counts alone."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import clew as torch
from clew import _core, func

SOURCES = Path(torch.__file__).parent


def functions_that_call_themselves(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """A nested function whose name occurs in its own body: its cell refers to it, and keeps all that it closes over.

    A wrapper of a decorated function is made once.
    """
    for outer in ast.walk(tree):
        if not isinstance(outer, ast.FunctionDef):
            continue
        for inner in ast.walk(outer):
            if inner is outer or not isinstance(inner, ast.FunctionDef):
                continue
            if any("wraps" in ast.unparse(one) for one in inner.decorator_list):
                continue
            names = {one.id for one in ast.walk(inner) if isinstance(one, ast.Name)}
            if inner.name in names:
                yield inner.name, inner.lineno


def test_no_nested_function_refers_to_itself() -> None:
    assert list(functions_that_call_themselves(ast.parse("def f():\n    def g():\n        return g()\n    return g")))
    found = [
        f"{path.relative_to(SOURCES)}:{line} {name}"
        for path in SOURCES.rglob("*.py")
        for name, line in functions_that_call_themselves(ast.parse(path.read_text()))
    ]
    assert not found


def cube(x: Any) -> Any:
    return (x.reshape(-1) ** 3).sum()


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda x, v: func.grad(cube)(x),
    "vjp": lambda x, v: func.vjp(cube, x)[1](torch.ones(())),
    "jvp": lambda x, v: func.jvp(cube, (x,), (v,)),
    "jvp of grad": lambda x, v: func.jvp(func.grad(cube), (x,), (v,)),
    "grad of jvp": lambda x, v: func.grad(lambda x: func.jvp(cube, (x,), (v,))[1])(x),
    "jacrev": lambda x, v: func.jacrev(cube)(x),
    "jacfwd": lambda x, v: func.jacfwd(cube)(x),
    "hessian": lambda x, v: func.hessian(cube)(x),
    "vmap": lambda x, v: torch.vmap(torch.dot)(x[None], v[None]),
    "linearize": lambda x, v: func.linearize(cube, x)[1](v),
    "functional_call": lambda x, v: func.functional_call(
        torch.nn.Linear(3, 1), {"weight": v[None], "bias": v[:1]}, (x,)
    ),
    "functional.hessian": lambda x, v: torch.autograd.functional.hessian(cube, x, vectorize=True),
    "multi_dot": lambda x, v: torch.linalg.multi_dot([x[None], torch.outer(v, x), x[:, None]]),
    "tree_map": lambda x, v: torch.utils._pytree.tree_map(torch.sin, {"x": [x, v]}),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("learns", [False, True])
def test_a_call_leaves_nothing_behind(name: str, learns: bool) -> None:
    x, v = torch.tensor([1.0, 2.0, 3.0]).requires_grad_(learns), torch.tensor([1.0, -1.0, 0.5])
    CALLS[name](x, v)  # what is made once
    gc.collect()
    gc.disable()
    try:
        before = len(_core.live_tensors())
        result = CALLS[name](x, v)
        del result
        assert len(_core.live_tensors()) == before
    finally:
        gc.enable()
