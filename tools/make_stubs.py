"""Writes what is known from the core at run time: its type stubs and the operations page.

python tools/make_stubs.py           writes src/clew/{_core,_functions,__init__}.pyi, docs/operations.md
python tools/make_stubs.py --check   fails if they are not up to date

Properties, operators and functions of the core that are written by hand are in tools/core_stub_template.pyi; the
methods come from the registry and from the Python functions that were given to the core's classes.
"""

from __future__ import annotations

import ast
import inspect
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import clew
import clew.fft  # defines operations of its own
import clew.linalg
import clew.special
from clew import _core
from clew._storage import TYPED_STORAGES
from clew._typed import CONSTRUCTORS

sys.path.append(str(Path(__file__).parents[1]))  # behind everything installed

from tools.operations_page import operations_page
from tools.stub_signatures import (
    HIDDEN,
    IMPORTED,
    MANY_VIEWS,
    PROPERTY,
    base_name,
    definitions,
    python_signature,
)

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "tools" / "core_stub_template.pyi"
OBJECT_NAMES = set(dir(object))


BUFFER_NAMES = {"__buffer__", "__release_buffer__"}  # from Python 3.12 on; the stubs are the same for all versions


def own_members(kind: type) -> dict[str, Any]:
    """The members that it does not have from object."""
    found = {name: inspect.getattr_static(kind, name) for name in sorted(dir(kind))}
    return {
        name: value
        for name, value in found.items()
        if name not in BUFFER_NAMES
        if name not in OBJECT_NAMES or value is not inspect.getattr_static(object, name)
    }


def names_written_by_hand() -> dict[str, set[str]]:
    """The names that the template defines: in each class, and in the module under the name ""."""
    found: dict[str, set[str]] = {"": set()}
    for statement in ast.parse(TEMPLATE.read_text()).body:
        found[""] |= defined_names(statement)
        if isinstance(statement, ast.ClassDef):
            found[statement.name] = {name for one in statement.body for name in defined_names(one)}
    return found


def defined_names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return {statement.target.id}
    return set()


def operator_lines(by_hand: set[str]) -> str:
    """The operators between a tensor and a tensor or number, and those that write into the first."""
    lines = ""
    for name, member in own_members(_core.Tensor).items():
        if type(member).__name__ == "wrapper_descriptor" and name not in by_hand and name not in NOT_WRITTEN:
            lines += f"    def {name}(self, other: Any) -> Tensor: ...\n"
    return lines


# Members that every class has, said by object already, or that the type itself needs.
NOT_WRITTEN = {
    "__class__",
    "__delattr__",
    "__delitem__",
    "__doc__",
    "__getattribute__",
    "__module__",
    "__new__",
    "__repr__",
    "__setattr__",
}


def python_methods(kind: type, by_hand: set[str]) -> str:
    in_tensor = kind is _core.Tensor
    return "".join(
        f"    {python_signature(name, one, in_tensor=in_tensor)}\n"
        for name, one in own_members(kind).items()
        if inspect.isfunction(one) and name not in by_hand
    )


def module_functions(by_hand: set[str]) -> str:
    """The functions of the module whose docstring starts with their signature."""
    lines = ""
    for name, function in sorted(vars(_core).items()):
        if type(function).__name__ != "nb_func" or name in by_hand:
            continue
        signature = function.__doc__.splitlines()[0].replace("clew._core.", "").replace("-> object", "-> Any")
        lines += f"def {signature.replace(': object', ': Any')}: ...\n"
    return lines


def with_results(operations: dict[str, Any]) -> dict[str, list[str]]:
    """The named tuples of operations with several results: their fields."""
    found: dict[str, list[str]] = {}
    for operation in operations.values():
        for overload in operation.overloads:
            if overload["outputs"] > 1 and not overload["flags"] & (MANY_VIEWS | HIDDEN):
                found.setdefault(f"{base_name(overload)}_result", overload["output_names"])
    return dict(sorted(found.items()))


def is_operation(value: Any) -> bool:
    return isinstance(value, _core.Operation)


def core_stub() -> str:
    by_hand = names_written_by_hand()
    members = own_members(_core.Tensor)
    operations = {name: one for name, one in members.items() if is_operation(one)}
    methods = "".join(definitions(name, one, method=True) for name, one in operations.items())
    transposes = "".join(
        f"    @property\n    def {name}(self) -> Tensor: ...\n"
        for name, one in sorted(vars(_core.ops).items())
        if all(overload["flags"] & PROPERTY for overload in one.overloads)
    )
    imports = "".join(
        f"from {module} import {name}\n" for name, module in sorted(IMPORTED.items(), key=lambda one: (one[1], one[0]))
    )
    imports += "".join(f"from clew._functions import {name}\n" for name in with_results(operations))
    aliases = "_device: TypeAlias = device\n_layout: TypeAlias = layout\n"
    parts = {
        "# IMPORTS\n": imports + aliases,
        "    # OPERATORS\n": operator_lines(by_hand["Tensor"]),
        "    # METHODS OF THE REGISTRY\n": transposes + methods,
        "    # METHODS WRITTEN IN PYTHON\n": python_methods(_core.Tensor, by_hand["Tensor"]),
        "    # METHODS OF NODE\n": python_methods(_core.Node, by_hand["Node"]),
    }
    text = TEMPLATE.read_text()
    for mark, lines in parts.items():
        text = text.replace(mark, lines)
    return text + module_functions(by_hand[""])


def functions_stub() -> str:
    spellings = {name: getattr(clew, name) for name in clew.ops.__all__ if is_operation(getattr(clew, name))}
    operations = dict(sorted((_core.functions | spellings).items()))
    members = {name: one for name, one in own_members(_core.Tensor).items() if is_operation(one)}
    text = (
        '"""Operations as functions. Written by tools/make_stubs.py from the registry; do not edit."""\n\n'
        '# mypy: disable-error-code="overload-overlap,overload-cannot-match"\n\n'
        "from collections.abc import Sequence\n"
        "from typing import Any, NamedTuple, overload\n\n"
        "from clew._core import Tensor, _Number, dtype\n"
        "from clew._device import memory_format\n\n"
    )
    for name, fields in with_results(operations | members).items():
        text += f"class {name}(NamedTuple):\n" + "".join(f"    {field}: Tensor\n" for field in fields) + "\n"
    return text + "".join(
        definitions(name, one, method=False) for name, one in operations.items() if name not in python_functions()
    )


def python_functions() -> dict[str, str]:
    """The operations written in Python and their modules. (Other spellings of the core's are the core's.)"""
    found = {}
    for module_name, module in sorted(sys.modules.items()):
        if module_name.startswith("clew.ops."):
            names = [name for name in getattr(module, "__all__", ()) if not is_operation(getattr(module, name))]
            found.update(dict.fromkeys(names, module_name.removeprefix("clew")))
    return dict(sorted(found.items()))


def package_stub() -> str:
    """clew/__init__.py's own re-exports, and the names that it fills in at run time."""
    lines = [
        '"""What `import clew` gives. Written by tools/make_stubs.py from src/clew/__init__.py and the registry."""',
        "",
        "import builtins",
        "",
    ]
    package = ast.parse((ROOT / "src" / "clew" / "__init__.py").read_text()).body
    for statement in package:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            lines += [ast.unparse(statement)] if all(is_public(one) for one in statement.names) else []
    lines += [f"from . import {name} as {name}" for name in sorted(LOADED_LATER) if find_spec(f"clew.{name}")]
    lines += [
        f"from {getattr(clew, name).__module__} import {name} as {name}" for name in sorted(vars(clew)["_FUNCTIONS"])
    ]
    skipped = python_functions()
    names = [name for name in sorted({*_core.functions, *clew.ops.__all__}) if name not in skipped]
    lines += [f"from ._functions import {name} as {name}" for name in names]
    lines += [f"from {module} import {name} as {name}" for name, module in skipped.items()]
    lines += ["from ._core import from_numpy as from_numpy"]
    lines += ["", "__version__: builtins.str", "newaxis: None"]
    lines += [f"{name}: builtins.float" for name in ("e", "inf", "nan", "pi")]
    lines += [f"{name}: dtype" for name in (*_core.dtypes, *_core.dtype_names)]
    lines += [f"class {name}(Tensor): ..." for name in CONSTRUCTORS]
    lines += [f"class {name}(TypedStorage): ..." for name in TYPED_STORAGES]
    return "\n".join(lines) + "\n"


def is_public(name: ast.alias) -> bool:
    return name.asname == name.name and (not name.name.startswith("_"))


def missing_names(core: str, package: str) -> list[str]:
    """What exists at run time and no stub says."""
    said: dict[str, set[str]] = {"_core": set()}
    for statement in ast.parse(core).body:
        said["_core"] |= defined_names(statement)
        if isinstance(statement, ast.ClassDef):
            said[statement.name] = {name for one in statement.body for name in defined_names(one)}
    missing = [f"_core.{name}" for name in vars(_core) if name not in said["_core"] and not name.startswith("__")]
    for kind in (_core.Tensor, _core.Node, _core.RandomStream, _core.Site, _core.dtype):
        for name in own_members(kind):
            special = name.startswith("__") and (kind is not _core.Tensor or name in NOT_WRITTEN)
            if name not in said[kind.__name__] and not special:
                missing.append(f"{kind.__name__}.{name}")
    exported: set[str | None] = set()
    for statement in ast.parse(package).body:
        exported |= defined_names(statement)
        if isinstance(statement, ast.ImportFrom):
            exported |= {name.asname for name in statement.names}
    public = {name for name in dir(clew) if not name.startswith("_") and name not in NOT_PUBLIC}
    absent = {name for name in LOADED_LATER if not find_spec(f"clew.{name}")}
    return missing + [f"clew.{name}" for name in sorted(public - exported - absent)]


# Modules that clew loads when they are first asked for.
LOADED_LATER: set[str] = vars(clew)["_MODULES"]
# Names that `clew` has for its own sake.
NOT_PUBLIC = {"annotations"}


def main() -> int:
    wanted = {
        ROOT / "src" / "clew" / "_core.pyi": core_stub(),
        ROOT / "src" / "clew" / "_functions.pyi": functions_stub(),
        ROOT / "src" / "clew" / "__init__.pyi": package_stub(),
        ROOT / "docs" / "operations.md": operations_page(),
    }
    missing = missing_names(wanted[ROOT / "src" / "clew" / "_core.pyi"], wanted[ROOT / "src" / "clew" / "__init__.pyi"])
    for name in missing:
        print(f"{name} is in no stub: add it to tools/core_stub_template.pyi")
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: run python tools/make_stubs.py")
        return 1 if stale or missing else 0
    for path in stale:
        path.write_text(wanted[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
