"""Which of PyTorch's names the libraries that depend on it use, and which of those clew has.

python tools/used_names.py                        writes docs/used-names.md, from the counts in tests/used_names.txt
python tools/used_names.py --path SITE_PACKAGES   counts them again first, in the distributions that are installed there
python tools/used_names.py --python PYTHON        the same, for the site-packages of this interpreter
python tools/used_names.py --missing FILE         writes what is missing into a file, too

The sources are parsed, not run. A name counts once for each distribution. It is used at import if a statement of the
module's level uses it, or a class body, a decorator, a default argument, or an annotation that is evaluated. Needs
PyTorch: only names that it has count.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
COUNTS = ROOT / "tests" / "used_names.txt"
PAGE = ROOT / "docs" / "used-names.md"
STATES = {
    "have": "the name is there",
    "refuses": "the name is there, calling it raises `NotImplementedError` and names a substitute",
    "missing": "not there",
}
# Parts of PyTorch itself, and compilers for it.
NOT_LIBRARIES = re.compile(r"torch|functorch|torchgen|triton|nvidia-.*|clew.*|torchvision|torchaudio")
SKIPPED_FOLDERS = {"tests", "test", "testing", "examples", "benchmarks", "node_modules"}
# A method of one of these that a library overrides, or calls through super().
BASES = ("torch.nn.Module", "torch.optim.Optimizer", "torch.distributions.Distribution", "torch.autograd.Function")

IMPORT, FUNCTION, GUARDED = range(3)


class Reader(ast.NodeVisitor):
    """Collects the dotted names that one file uses, each with where it does."""

    def __init__(self, tree: ast.Module) -> None:
        self.uses: set[tuple[str, int]] = set()
        self.methods: set[tuple[str, str]] = set()  # (base class as written, method)
        self._aliases: dict[str, str] = {}
        self._functions = self._guards = 0
        self._bases: dict[str, list[str]] = {}  # of a class of this file: the torch classes it derives from
        self._class: list[str] = []
        self._lazy_annotations = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(one.name == "annotations" for one in node.names)
            for node in tree.body
        )
        # An alias may be used above its import: in a function that runs later.
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    if _is_torch(one.name):
                        self._aliases[one.asname or one.name.split(".")[0]] = one.name if one.asname else _top(one.name)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and _is_torch(node.module or ""):
                for one in node.names:
                    self._aliases[one.asname or one.name] = f"{node.module}.{one.name}"
        self.visit(tree)

    def _use(self, name: str, guarded: bool = False) -> None:
        where = FUNCTION if self._functions else GUARDED if self._guards or guarded else IMPORT
        self.uses.add((name, where))

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            if _is_torch(one.name):
                self._use(one.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and _is_torch(node.module or ""):
            for one in node.names:
                self._use(f"{node.module}.{one.name}" if one.name != "*" else str(node.module))

    def dotted(self, node: ast.expr) -> str | None:
        """`torch.a.b` for an attribute chain that starts at an alias."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in self._aliases:
            return ".".join([self._aliases[node.id], *reversed(parts)])
        return None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self.dotted(node)
        if name:
            self._use(name)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._aliases:
            self._use(self._aliases[node.id])

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr") and len(node.args) >= 2:
            place, name = self.dotted(node.args[0]), node.args[1]
            if place and isinstance(name, ast.Constant) and isinstance(name.value, str):
                self._use(f"{place}.{name.value}", guarded=node.func.id == "hasattr" or len(node.args) > 2)
        called = node.func
        if (
            self._class
            and isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Call)
            and isinstance(called.value.func, ast.Name)
            and called.value.func.id == "super"
        ):
            self.methods.update((base, called.attr) for base in self._bases.get(self._class[-1], ()))
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        found: list[str] = []
        for base in node.bases:
            name = self.dotted(base)
            if name:
                found.append(name)
            elif isinstance(base, ast.Name):
                found += self._bases.get(base.id, [])
        self._bases[node.name] = found
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                self.methods.update((base, one.name) for base in found)
        for part in [*node.decorator_list, *node.bases, *node.keywords]:
            self.visit(part)
        self._class.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._class.pop()

    def _annotation(self, node: ast.expr | None) -> None:
        if node is not None:
            self._functions += self._lazy_annotations
            self.visit(node)
            self._functions -= self._lazy_annotations

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        for argument in filter(None, given):
            self._annotation(argument.annotation)
        self._annotation(node.returns)
        self._functions += 1
        for statement in node.body:
            self.visit(statement)
        self._functions -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._functions += 1
        self.generic_visit(node)
        self._functions -= 1

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.dump(node.test):  # not run
            self._functions += 1
            self.generic_visit(node)
            self._functions -= 1
            return
        asks = any(word in ast.dump(node.test) for word in ("version", "is_available", "hasattr", "_available"))
        self.visit(node.test)
        self._guards += asks
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)
        self._guards -= asks

    def visit_Try(self, node: ast.Try) -> None:
        caught = " ".join(ast.dump(one.type) if one.type else "Exception" for one in node.handlers)
        guards = bool(re.search("ImportError|ModuleNotFound|AttributeError|Exception", caught))
        self._guards += guards
        for statement in node.body:
            self.visit(statement)
        self._guards -= guards
        for statement in [*node.handlers, *node.orelse, *node.finalbody]:
            self.visit(statement)


def _is_torch(module: str) -> bool:
    return _top(module) in ("torch", "functorch")


def _top(module: str) -> str:
    return module.split(".")[0]


class PyTorch:
    """What PyTorch has of the names that are written."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {"torch": importlib.import_module("torch")}
        self._names: dict[str, str | None] = {}
        self._bases = tuple(self._find(base) for base in BASES)

    def _find(self, name: str) -> Any:
        if name not in self._found:
            place, _, last = name.rpartition(".")
            parent = self._find(place) if place else None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    value = getattr(parent, last, None) if parent is not None else None
            except RuntimeError:  # torch.classes, of a class that is not registered
                value = None
            if value is None and (parent is None or isinstance(parent, ModuleType)):
                try:
                    value = importlib.import_module(name)
                except BaseException:  # what it needs is not installed
                    value = "absent" if parent is not None and last in vars(parent) else None
            self._found[name] = value
        return self._found[name]

    def name_of(self, written: str) -> str | None:
        """The part of a chain that is PyTorch's: `torch.float32` of `torch.float32.itemsize`. None if it has none."""
        if written not in self._names:
            self._names[written] = self._name_of(written)
        return self._names[written]

    def _name_of(self, written: str) -> str | None:
        parts = written.split(".")
        for count in range(1, len(parts) + 1):
            name = ".".join(parts[:count])
            value = self._find(name)
            if value is None:
                # An attribute of an object (`__init__` of a class) counts as the object, one of a module is not there.
                above = self._find(".".join(parts[: count - 1])) if count > 1 else None
                return None if above is None or isinstance(above, ModuleType) else ".".join(parts[: count - 1])
            if not isinstance(value, ModuleType) and not (isinstance(value, type) and count < len(parts)):
                return name
        return written

    def method_of(self, base: str, method: str) -> str | None:
        """`torch.nn.Module.forward` for the method of a class that derives from `torch.nn.Linear`, say."""
        value = self._find(self.name_of(base) or "torch")
        if not isinstance(value, type):
            return None
        for spelled, known in zip(BASES, self._bases, strict=True):
            if issubclass(value, known) and any(method in vars(one) for one in known.__mro__[:-1]):
                return f"{spelled}.{method}"
        return None


def libraries(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """The distributions in a folder whose sources name torch, each with these sources."""
    for distribution in sorted(importlib.metadata.distributions(path=[str(folder)]), key=lambda one: one.name.lower()):
        if NOT_LIBRARIES.fullmatch(distribution.name):
            continue
        found = []
        for file in distribution.files or ():
            if file.suffix != ".py" or SKIPPED_FOLDERS & set(file.parts) or file.name == "conftest.py":
                continue
            path = Path(str(distribution.locate_file(file)))
            if path.is_file() and b"torch" in path.read_bytes():
                found.append(path)
        if found:
            yield distribution.name.lower(), found


def count(folder: Path) -> tuple[int, dict[str, list[int]]]:
    """How many distributions there are, and for each name how many use it at import, in functions only, if guarded."""
    pytorch = PyTorch()
    users: dict[str, list[set[str]]] = defaultdict(lambda: [set(), set(), set()])
    number = 0
    for library, files in libraries(folder):
        found: set[tuple[str, int]] = set()
        for path in files:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    reader = Reader(ast.parse(path.read_bytes()))
            except (SyntaxError, ValueError, RecursionError):
                continue
            found |= {(name, where) for written, where in reader.uses if (name := pytorch.name_of(written))}
            found |= {(name, FUNCTION) for base, method in reader.methods if (name := pytorch.method_of(base, method))}
        number += bool(found)
        for name, where in found:
            users[name][where].add(library)
    for at_import, in_functions, guarded in users.values():
        guarded -= at_import
        in_functions -= at_import | guarded
    return number, {name: [len(some) for some in three] for name, three in users.items()}


def states(names: list[str]) -> dict[str, str]:
    """Looks each name up under `clew.as_torch()`, in a process of its own, as PyTorch is loaded in this one."""
    child = [sys.executable, "-W", "ignore", __file__, "--look-up"]
    done = subprocess.run(child, input=json.dumps(names), capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def look_up() -> None:
    """The child's part: reads names, prints the state of each."""
    sys.path.insert(0, str(ROOT / "src"))
    import clew

    clew.as_torch()
    print(json.dumps({name: state(name) for name in json.load(sys.stdin)}))


def state(name: str) -> str:
    """One of STATES, in a process in which `torch` is clew."""
    try:
        value = find(name)
    except (ImportError, AttributeError):
        return "missing"
    refuses = importlib.import_module("clew._unsupported").refuses
    return "refuses" if refuses(value) else "have"


def find(name: str) -> Any:
    """The value of `from a.b import c`, or the module `a.b.c`, or the attribute of a class."""
    place, _, last = name.rpartition(".")
    if not place:
        return importlib.import_module(name)
    try:
        parent = importlib.import_module(place)
    except ImportError:
        parent = find(place)
    try:
        return getattr(parent, last)
    except AttributeError:
        return importlib.import_module(name)


def read_counts() -> tuple[int, dict[str, list[int]]]:
    """What `write_counts` wrote."""
    head, *lines = COUNTS.read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines)
    return int(head.split()[1]), {name: [int(one) for one in counts] for name, *counts in rows}


def write_counts(number: int, counts: dict[str, list[int]]) -> None:
    """One line for each name: distributions that use it at import, in functions only, and only if it is there."""
    lines = [f"# {number} distributions. A name, and how many use it: at import, in functions, if it is there"]
    lines += [f"{name} {' '.join(map(str, counts[name]))}" for name in in_order(counts)]
    COUNTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def in_order(counts: dict[str, list[int]]) -> list[str]:
    """The names that most distributions use at import first."""
    return sorted(counts, key=lambda name: (-counts[name][IMPORT], -counts[name][FUNCTION], -sum(counts[name]), name))


def page(number: int, counts: dict[str, list[int]], found: dict[str, str]) -> str:
    """docs/used-names.md."""
    several = [name for name in in_order(counts) if sum(counts[name]) > 1]
    at_import = [name for name in several if counts[name][IMPORT] > 1]

    def summary(title: str, names: list[str]) -> str:
        there = [sum(found[name] == kind for name in names) for kind in STATES]
        return f"| {title} | {len(names)} | {' | '.join(map(str, there))} |"

    lines = [
        "# PyTorch's names, by use",
        "",
        f"Made by `tools/used_names.py` from the sources of {number} distributions that use PyTorch.",
        "Only names that PyTorch 2.13 has are counted.",
        "",
        *(f"- **{name}**: {text}" for name, text in STATES.items()),
        "",
        f"| names used | names | {' | '.join(STATES)} |",
        "|---|---" + "|---" * len(STATES) + "|",
        summary("by two distributions or more, at import", at_import),
        summary("by two distributions or more", several),
        summary("by any", list(counts)),
        "",
        "The columns count distributions: those that use a name at import, those that use it in functions only, and",
        "those that look first whether it is there.",
        "",
    ]
    for title, kind in (("missing", "missing"), ("refused", "refuses"), ("there", "have")):
        names = [name for name in several if found[name] == kind]
        if names:
            lines += [
                f"## Names that are {title}",
                "",
                "| name | at import | in functions | if there |",
                "|---|---|---|---|",
            ]
            lines += [f"| `{name}` | {' | '.join(map(str, counts[name]))} |" for name in names]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path)
    parser.add_argument("--python")
    parser.add_argument("--missing", type=Path)
    parser.add_argument("--look-up", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.look_up:
        return look_up()
    folder = given.path
    if given.python:
        ask = [given.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        folder = Path(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip())
    if folder:
        write_counts(*count(folder))
    number, counts = read_counts()
    found = states(list(counts))
    PAGE.write_text(page(number, counts, found), encoding="utf-8")
    if given.missing:
        lines = [f"{name} {' '.join(map(str, counts[name]))}" for name in in_order(counts) if found[name] == "missing"]
        given.missing.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
