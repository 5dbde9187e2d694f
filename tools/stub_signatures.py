"""Signatures as stubs say them: of operations in the registry, and of Python functions that are methods."""

from __future__ import annotations

import ast
import builtins
import inspect
from typing import Any

from clew import _core

# Flags of core/ops/opdef.h.
METHOD, FUNCTION, IN_PLACE, OUT, HIDDEN, PROPERTY, MANY_VIEWS = 1, 2, 4, 8, 64, 128, 512

TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Operand": "Tensor | _Number",
    "bool": "bool",
    "int": "int",
    "float": "float",
    "Scalar": "_Number",
    "int[]": "int | Sequence[int]",
    "str": "str",
    "dtype": "dtype",
    "memory_format": "memory_format",
}
TENSOR_NAMES = set(dir(_core.Tensor))

# What signatures may name besides builtins, and where it comes from.
IMPORTED = {
    "Generator": "clew.random",
    "HookHandle": "clew.autograd.handles",
    "HistoryBreak": "clew.graph.model.records",
    "Release": "clew.graph.model.records",
    "SavedSlot": "clew.graph.model.records",
    "Size": "clew._size",
    "UntypedStorage": "clew._storage",
    "Write": "clew.graph.model.records",
    "device": "clew._device",
    "layout": "clew._device",
    "memory_format": "clew._device",
}
KNOWN = {*IMPORTED, "Any", "Callable", "Iterator", "Node", "Self", "Sequence", "Tensor", "dtype", "_Number"}

Overload = dict[str, Any]


def written_type(annotation: str, *, in_tensor: bool) -> str:
    """The annotation as the stub says it: in the class Tensor, `int` and `dtype` are members, so others are named."""
    tree = ast.parse(annotation, mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name):
            continue
        if hasattr(builtins, node.id):
            if in_tensor and node.id in TENSOR_NAMES:
                node.id = f"builtins.{node.id}"
        elif node.id not in KNOWN:
            return "Any"
        elif in_tensor and node.id in TENSOR_NAMES:
            node.id = f"_{node.id}"
    return ast.unparse(tree)


def parameter(argument: dict[str, Any], *, method: bool) -> str:
    kind = written_type(TYPES[argument["type"]], in_tensor=method) + (" | None" if argument["optional"] else "")
    return f"{argument['name']}: {kind}" + (" = ..." if argument["default"] is not None else "")


def result_type(overload: Overload) -> str:
    if overload["flags"] & MANY_VIEWS or overload["outputs"] == 0:  # as many as the input says
        return "tuple[Tensor, ...]"
    return "Tensor" if overload["outputs"] == 1 else f"{base_name(overload)}_result"


def base_name(overload: Overload) -> str:
    name: str = overload["name"]
    return name.split(".")[0]


def is_in_place(name: str, overload: Overload) -> bool:
    """Whether this is the derived form `x.op_(...)` of an operation that is registered as `op`."""
    return name.endswith("_") and not base_name(overload).endswith("_")


def signatures(name: str, overload: Overload, *, method: bool) -> list[str]:
    in_place = is_in_place(name, overload)
    arguments = overload["arguments"]
    parts = ["self"] if method else []
    starred = False
    for argument in arguments[1:] if method else arguments:
        if argument["keyword_only"] and not starred:
            parts.append("*")
            starred = True
        parts.append(parameter(argument, method=method))
    if overload["flags"] & OUT and not in_place:
        parts += [] if starred else ["*"]
        parts.append("out: Tensor | None = ..." if overload["outputs"] == 1 else "out: tuple[Tensor, ...] | None = ...")
    result = "Tensor" if in_place else result_type(overload)
    found = [f"def {name}({', '.join(parts)}) -> {result}: ..."]
    if method and len(arguments) > 1 and arguments[1]["type"] == "int[]":
        # x.view(2, 3) beside x.view((2, 3)): a list of ints in the first place may come as separate arguments.
        several = f"*{arguments[1]['name']}: {written_type('int', in_tensor=True)}"
        rest = [parameter(one, method=True) for one in arguments[2:]]
        found.append(f"def {name}({', '.join(['self', several, *rest])}) -> {result}: ...")
    return found


def block(lines: list[str], indent: str = "") -> str:
    """One definition, or all as overloads of each other."""
    unique = list(dict.fromkeys(lines))
    mark = f"{indent}@overload\n" if len(unique) > 1 else ""
    return "".join(f"{mark}{indent}{line}\n" for line in unique)


def definitions(name: str, operation: Any, *, method: bool) -> str:
    lines: list[str] = []
    for overload in operation.overloads:
        wanted = IN_PLACE if is_in_place(name, overload) else METHOD if method else FUNCTION
        if overload["flags"] & wanted:
            lines += signatures(name, overload, method=method)
    if not lines:
        lines = [f"def {name}({'self, ' if method else ''}*args: Any, **kwargs: Any) -> Any: ..."]
    return block(lines, "    " if method else "")


def python_signature(name: str, function: Any, *, in_tensor: bool) -> str:
    """What a Python function that became a method says of itself; parameters with a leading _ are its own affair."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
        returned = str(inspect.signature(function).return_annotation)
    except (TypeError, ValueError):
        return f"def {name}(self, *args: Any, **kwargs: Any) -> Any: ..."
    parts = ["self"]
    starred = False
    for one in parameters[1:]:
        if one.name.startswith("_"):
            continue
        kind = "Any" if one.annotation is one.empty else written_type(str(one.annotation), in_tensor=in_tensor)
        if one.kind is one.VAR_POSITIONAL:
            parts.append(f"*{one.name}: {kind}")
            starred = True
        elif one.kind is one.VAR_KEYWORD:
            parts.append(f"**{one.name}: {kind}")
        else:
            if one.kind is one.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            parts.append(f"{one.name}: {kind}" + ("" if one.default is one.empty else " = ..."))
    result = written_type(returned, in_tensor=in_tensor)
    return f"def {name}({', '.join(parts)}) -> {result}: ..."
