"""Writes the stubs and the operations page from the registry: clew/_core.pyi, clew/_functions.pyi, docs/operations.md.

python tools/make_stubs.py           writes them
python tools/make_stubs.py --check   fails if they are not up to date
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from clew import _core

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "tools" / "core_stub_template.pyi"

# Flags of core/ops/opdef.h.
METHOD, FUNCTION, IN_PLACE, OUT, PROPERTY, HIDDEN, MANY_VIEWS = 1, 2, 4, 8, 128, 64, 512

TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Operand": "Tensor | Number",
    "bool": "bool",
    "int": "int",
    "float": "float",
    "Scalar": "Number",
    "int[]": "int | Sequence[int]",
    "str": "str",
    "dtype": "dtype",
}
DEFAULTS = {"True", "False", "None"}

Overload = dict[str, Any]


def parameter(argument: dict[str, Any]) -> str:
    kind = TYPES[argument["type"]] + (" | None" if argument["optional"] else "")
    text = f"{argument['name']}: {kind}"
    return text + " = ..." if argument["default"] is not None else text


def result_type(name: str, overload: Overload) -> str:
    if overload["flags"] & MANY_VIEWS:
        return "tuple[Tensor, ...]"
    return "Tensor" if overload["outputs"] == 1 else f"{name}_result"


def signature(name: str, overload: Overload, *, method: bool, in_place: bool = False) -> str:
    parts: list[str] = []
    starred = False
    for position, argument in enumerate(overload["arguments"]):
        if method and position == 0:
            parts.append("self")
            continue
        if argument["keyword_only"] and not starred:
            parts.append("*")
            starred = True
        parts.append(parameter(argument))
    if overload["flags"] & OUT and not in_place:
        parts += [] if starred else ["*"]
        parts.append("out: Tensor | None = ..." if overload["outputs"] == 1 else "out: tuple[Tensor, ...] | None = ...")
    written = name + "_" if in_place else name
    return f"def {written}({', '.join(parts)}) -> {'Tensor' if in_place else result_type(name, overload)}: ..."


def variadic(name: str, overload: Overload, *, method: bool) -> str | None:
    """x.view(2, 3) beside x.view((2, 3)): a list of ints in the first place may come as separate arguments."""
    arguments = overload["arguments"]
    first = 1 if method else None
    if first is None or len(arguments) < 2 or arguments[1]["type"] != "int[]":
        return None
    rest = [parameter(one) for one in arguments[2:]]
    parts = ["self", f"*{arguments[1]['name']}: int", *rest]
    return f"def {name}({', '.join(parts)}) -> {result_type(name, overload)}: ..."


def block(lines: list[str], indent: str) -> str:
    """One definition, or all as overloads of each other."""
    unique = list(dict.fromkeys(lines))
    if len(unique) == 1:
        return f"{indent}{unique[0]}\n"
    ignore = "  # type: ignore[overload-overlap,overload-cannot-match]"
    return "".join(f"{indent}@overload{'' if i else ignore}\n{indent}{line}\n" for i, line in enumerate(unique))


def definitions(name: str, overloads: list[Overload], *, method: bool) -> str:
    wanted = METHOD if method else FUNCTION
    indent = "    " if method else ""
    text = ""
    lines: list[str] = []
    in_place: list[str] = []
    for overload in overloads:
        flags = overload["flags"]
        if flags & wanted:
            lines.append(signature(name, overload, method=method))
            if (several := variadic(name, overload, method=method)) is not None:
                lines.append(several)
        if flags & IN_PLACE and (method or flags & FUNCTION):
            in_place.append(signature(name, overload, method=method, in_place=True))
    if lines:
        text += block(lines, indent)
    if in_place:
        text += block(in_place, indent)
    if method and any(overload["flags"] & PROPERTY for overload in overloads):
        text += f"    @property\n    def {name}(self) -> Tensor: ...\n"
    return text


def registry() -> dict[str, list[Overload]]:
    found = {}
    for name, operation in sorted(vars(_core.ops).items()):
        if operation.__name__ == name and not (name.endswith("_") and name[:-1] in vars(_core.ops)):
            found[name] = operation.overloads
    return found


def core_stub() -> str:
    operations = registry()
    methods = "".join(definitions(name, overloads, method=True) for name, overloads in operations.items())
    template = TEMPLATE.read_text()
    return template.replace("    # METHODS OF THE REGISTRY\n", methods)


def functions_stub() -> str:
    operations = registry()
    head = (
        '"""Operations as functions. Written by tools/make_stubs.py from the registry; do not edit."""\n\n'
        "from collections.abc import Sequence\nfrom typing import NamedTuple, overload\n\nfrom clew._core import Number, Tensor, dtype\n\n"
    )
    tuples, bodies = "", ""
    for name, overloads in operations.items():
        several = [one for one in overloads if one["outputs"] > 1 and not one["flags"] & (MANY_VIEWS | HIDDEN)]
        if several:
            fields = "".join(f"    {field}: Tensor\n" for field in several[0]["output_names"])
            tuples += f"class {name}_result(NamedTuple):\n{fields}\n"
        bodies += definitions(name, overloads, method=False)
    return head + tuples + bodies


def operations_page() -> str:
    lines = [
        "# Operations",
        "",
        "Written by `tools/make_stubs.py` from the registry. *Keeps* says what a node saves for its backward, input by input: only what",
        "stands beside an input that needs a gradient is kept.",
        "",
        "| operation | node | keeps | what it does |",
        "|---|---|---|---|",
    ]
    for overloads in registry().values():
        for overload in overloads:
            if overload["flags"] & HIDDEN:
                continue
            schema = overload["schema"].replace("|", "\\|")
            doc = inspect.cleandoc(overload["doc"]).replace("\n", " ").replace("|", "\\|")
            node = f"`{overload['node']}`" if overload["node"] and overload["differentiable"] else ""
            lines.append(f"| `{schema}` | {node} | {overload['saves']} | {doc} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    wanted = {
        ROOT / "clew" / "_core.pyi": core_stub(),
        ROOT / "clew" / "_functions.pyi": functions_stub(),
        ROOT / "docs" / "operations.md": operations_page(),
    }
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: run python tools/make_stubs.py")
        return 1 if stale else 0
    for path in stale:
        path.write_text(wanted[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
