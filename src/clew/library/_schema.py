"""Schemas of users' operations, in PyTorch's notation: `mylib::scale(Tensor x, float by=2.0) -> Tensor`."""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._core import Tensor, dtype

_NAMES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtype: "ScalarType",
}
_NUMBER = frozenset({int, float, bool})
# What the registry's schemas (core/ops/schema.h) call them.
_OURS = {
    "Tensor": "Tensor",
    "Tensor[]": "Tensor[]",
    "SymInt": "int",
    "int": "int",
    "SymInt[]": "int[]",
    "int[]": "int[]",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Scalar": "Scalar",
}


@dataclass(frozen=True)
class Argument:
    """One argument: its type without `?` and without what is said of aliases."""

    name: str
    type: str
    optional: bool
    mutated: bool
    keyword_only: bool
    default: str | None

    @cached_property
    def value(self) -> Any:
        """The default, which must be there, as Python has it."""
        assert self.default is not None
        return ast.literal_eval(self.default)

    def __str__(self) -> str:
        """As in the registry's schemas."""
        text = _OURS[self.type] + ("!" if self.mutated else "") + ("?" if self.optional else "") + f" {self.name}"
        return text if self.default is None else f"{text}={self.default}"


@dataclass(frozen=True)
class Schema:
    """Arguments, and how many tensors come back."""

    text: str
    arguments: tuple[Argument, ...]
    returns: int
    one: bool  # a tensor by itself, not in a tuple

    def __str__(self) -> str:
        return self.text

    @cached_property
    def mutated(self) -> tuple[int, ...]:
        """Places of the arguments that are written."""
        return tuple(place for place, argument in enumerate(self.arguments) if argument.mutated)

    def registered(self, name: str) -> str:
        """The schema for the registry."""
        parts: list[str] = []
        for argument in self.arguments:
            if argument.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        return f"{name}({', '.join(parts)})"


def _split(text: str) -> list[str]:
    """At commas that stand in no brackets."""
    return [one.strip() for one in re.split(r",(?![^\[(]*[\])])", text) if one.strip()]


_ARGUMENT = re.compile(
    r"(?P<type>\w+)(\((?P<alias>[^)]*)\))?(?P<list>\[\d*\])?(?P<optional>\??)\s+(?P<name>\w+)(=(?P<default>.*))?$"
)


def parse(text: str, who: str) -> Schema:
    """Read `(Tensor x, *, float by=2.0) -> Tensor`.

    Raises:
        ValueError: it is no schema.
        NotImplementedError: a type that the registry does not know.
    """
    found = re.fullmatch(r"\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*?)\s*", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{who}: expected a schema such as '(Tensor x) -> Tensor', got {text!r}")
    arguments: list[Argument] = []
    keyword_only = False
    for part in _split(found["arguments"]):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only, who))
    returned = found["returns"]
    one = not returned.startswith("(")
    kinds = [returned] if one else _split(returned[1:-1])
    for kind in kinds:
        if kind.split()[0] != "Tensor":
            raise NotImplementedError(f"{who}: expected results that are tensors, got '{kind}'; return tensors")
    lists = sum(argument.type == "Tensor[]" for argument in arguments)
    if lists > 1:
        raise NotImplementedError(f"{who}: at most one list of tensors is supported among the arguments, got {lists}")
    return Schema(text.strip(), tuple(arguments), len(kinds), one)


def _argument(text: str, keyword_only: bool, who: str) -> Argument:
    found = _ARGUMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"{who}: expected an argument such as 'Tensor x' or 'float by=2.0', got {text!r}")
    kind = found["type"] + ("[]" if found["list"] else "")
    optional = bool(found["optional"])
    if kind not in _OURS or (optional and kind == "Tensor[]"):
        raise NotImplementedError(
            f"{who}: arguments of type {kind}{'?' * optional} are not supported; expected one of {', '.join(_OURS)}"
        )
    default = found["default"]
    if default is not None and kind == "str":
        default = default.replace('"', "'")
    return Argument(found["name"], kind, optional, "!" in (found["alias"] or ""), keyword_only, default)


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function whose arguments and result are annotated.

    Args:
        mutates_args: names of the arguments that it writes; "unknown" takes every tensor for one.
        op_name: stands before the schema.

    Raises:
        ValueError: an annotation is missing, or says a type that operations can't have.

    Example:
        >>> def scale(x: clew.Tensor, by: float = 2.0) -> clew.Tensor: ...
        >>> clew.library.infer_schema(scale, mutates_args=())
        '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function, eval_str=True)

    def fail(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    every = mutates_args == "unknown"
    written = set() if isinstance(mutates_args, str) else set(mutates_args)
    if isinstance(mutates_args, str) and not every:
        fail("mutates_args must either be a sequence of names of the arguments that are mutated or 'unknown'.")
    if unknown := written - set(signature.parameters):
        fail(f"{sorted(unknown)} in mutates_args were not found in the arguments of the function.")
    parts: list[str] = []
    keyword_only = False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            fail("We do not support varargs.")
        if parameter.annotation is parameter.empty:
            fail(f"Parameter {name} must have a type annotation.")
        kind = _named(parameter.annotation)
        if kind is None:
            fail(f"Parameter {name} has unsupported type {parameter.annotation}. The valid types are: "
                 f"{', '.join(_OURS)}, lists of Tensor and int, and any of them or None.")  # fmt: skip
        if name in written or (every and kind.startswith("Tensor")):
            if not kind.startswith("Tensor"):
                fail(f"Parameter {name} is in mutates_args but only Tensors or collections of Tensors can be mutated.")
            kind = kind.replace("Tensor", f"Tensor(a{len(parts)}!)")
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default, fail)}"
        parts.append(f"{kind} {name}{default}")
    if signature.return_annotation is signature.empty:
        fail("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returned(signature.return_annotation, fail)}"


def _default(value: Any, fail: Callable[[str], typing.NoReturn]) -> str:
    if value is None or isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    fail(f"A default value of type {type(value).__name__} is not supported.")


def _named(annotation: Any) -> str | None:
    """PyTorch's name of a type; None if it has none."""
    if isinstance(annotation, type) and annotation in _NAMES:
        return _NAMES[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        kinds = set(inner)
        if kinds - {type(None)} == _NUMBER:
            return "Scalar" + "?" * (type(None) in kinds)
        if len(inner) == 2 and type(None) in kinds:
            name = _named(next(one for one in inner if one is not type(None)))
            return name and f"{name}?"
    if origin in (list, Sequence) and len(inner) == 1 and inner[0] in (Tensor, int):
        return f"{_NAMES[inner[0]]}[]"
    return None


def _returned(annotation: Any, fail: Callable[[str], typing.NoReturn]) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    if annotation is Tensor:
        return "Tensor"
    inner = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple and inner and all(one is Tensor for one in inner):
        return f"({', '.join(['Tensor'] * len(inner))})"
    fail(f"Return has unsupported type {annotation}. The valid types are: Tensor, tuples of Tensor, and None.")
