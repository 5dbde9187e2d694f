"""Checks that no layer includes or imports one above it (docs/internals/layers.md says which layer is which)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"

# What the files of a folder may include, besides the standard library. Kernels see raw buffers only.
CORE: dict[str, tuple[str, ...]] = {
    "core/base": ("core/base",),
    "core/kernels": ("core/base", "core/kernels"),
    "core/tensor": ("core/base", "core/kernels", "core/tensor"),
    "core/autograd": ("core/base", "core/kernels/view.h", "core/tensor", "core/autograd"),
    "core/ops": ("core/base", "core/kernels", "core/tensor", "core/autograd", "core/ops"),
    "core/budget": ("core/base", "core/tensor", "core/autograd", "core/ops", "core/budget"),
    "core/program": ("core",),
    "bind": ("core", "bind"),
}
# The core knows no Python, and a kernel family no standard library that shares inline code between instruction sets.
FAMILY_HEADERS = {"cstdint", "cstddef", "cmath", "cfloat", "climits"}

PYTHON: dict[str, tuple[str, ...]] = {
    # The engine's own face may not lean on what is built with it.
    "clew/autograd": ("clew.nn", "clew.optim", "clew.cli", "clew.utils.data"),
    "clew/ops": ("clew.nn", "clew.optim", "clew.cli"),
    "clew/graph": ("clew.nn", "clew.optim", "clew.cli"),
    "clew/nn": ("clew.optim", "clew.cli"),
    "clew/optim": ("clew.cli",),
}
# The packages of clew.graph in their order: each may import those before it. A picture imports its page when asked to.
GRAPH = (
    "program",
    "model",
    "explanations",
    "pictures",
    "page",
    "exporting",
    "memory",
    "iterations",
    "gradients",
    "notes",
    "numerics",
    "pruning",
    "freezing",
)
PYTHON |= {
    f"clew/graph/{one}": tuple(f"clew.graph.{later}" for later in GRAPH[position + 1 :])
    for position, one in enumerate(GRAPH)
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def check_core() -> list[str]:
    wrong = []
    for folder, allowed in CORE.items():
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp"}:
                continue
            name = path.relative_to(ROOT)
            for bracket, target in INCLUDE.findall(path.read_text()):
                if bracket == '"' and not any(target == one or target.startswith(one + "/") for one in allowed):
                    wrong.append(f"{name}: {folder} may not include {target}")
                if folder.startswith("core") and ("Python.h" in target or "nanobind" in target):
                    wrong.append(f"{name}: the core knows no Python, but includes {target}")
                if path.name.endswith(".isa.cpp") and bracket == "<" and target not in FAMILY_HEADERS:
                    wrong.append(f"{name}: a kernel family includes no <{target}>")
    return wrong


def module_name(path: Path) -> str:
    """`clew.nn.init` of src/clew/nn/init.py."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements, also those inside functions, but for what only a type checker reads."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(node.orelse)
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, field, None) or [])
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from statements(part.body)


def imports_of(path: Path, module: str, late: bool = False) -> list[str]:
    """Modules, or names in them, that are imported when the file is; with `late`, those that functions import, too."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    found = []
    body = ast.parse(path.read_text()).body
    for node in statements(body) if late else body:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            found += [f"{source}.{alias.name}" for alias in node.names]
    return found


def check_python() -> list[str]:
    wrong = []
    for folder, forbidden in PYTHON.items():
        for path in sorted((SOURCE / folder).rglob("*.py")):
            for target in imports_of(path, module_name(path)):
                if any(target == one or target.startswith(one + ".") for one in forbidden):
                    wrong.append(f"{path.relative_to(ROOT)}: {folder} may not import {target}")
    unplaced = {path.parent.name for path in (SOURCE / "clew/graph").glob("*/__init__.py")} - set(GRAPH)
    return wrong + [
        f"src/clew/graph/{name}: has no place among the packages of clew.graph" for name in sorted(unplaced)
    ]


def circles() -> list[str]:
    """Modules that import each other, however far around, at once or inside functions. A package's `__init__` is what
    gathers its modules: that they in turn name the package is no circle."""
    modules = {module_name(path): path for path in SOURCE.rglob("*.py")}
    edges = {}
    for name, path in modules.items():
        named = (one if one in modules else one.rpartition(".")[0] for one in imports_of(path, name, late=True))
        edges[name] = {one for one in named if one in modules and one != name and not name.startswith(one + ".")}
    reach = {name: set(below) for name, below in edges.items()}
    for between in edges:
        for below in reach.values():
            if between in below:
                below |= reach[between]
    groups = {frozenset(two for two in reach[one] if one in reach[two]) for one in edges if one in reach[one]}
    return sorted(f"import circle: {', '.join(sorted(group))}" for group in groups)


def main() -> int:
    wrong = check_core() + check_python() + circles()
    for line in wrong:
        print(line)
    print(f"layers: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
