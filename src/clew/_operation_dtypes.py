"""Which dtypes an operation takes and gives, as its docstring says it: asked of inference, so that it is true."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from . import _core
from ._core import Operation, dtype
from ._operation import ELEMENT_BY_ELEMENT, MANY_VIEWS, NAMESPACE, PROPERTY, VIEW, WRITES

__all__ = ["dtypes_of", "of_two_dtypes", "outcome", "samples_of"]

Overload = dict[str, Any]

AXES = ("dim", "dims", "shifts")
DTYPES = {
    "bool": ("bool",),
    "integers": ("uint8", "int8", "int16", "int32", "int64"),
    "floats": ("float16", "bfloat16", "float32", "float64"),
    "complex": ("complex64", "complex128"),
}


def dtypes_of(operation: Operation) -> str:
    """Which dtypes give which, from what `infer` says of tensors of each: first of all of one dtype, then of two.

    Empty of what keeps the dtype of self (views, writes in place), and where no arguments can be guessed.
    """
    if operation.__name__.endswith("_"):
        return ""
    for sample in samples_of(operation):
        found = {name: outcome(operation, arguments) for name, arguments in sample.items()}
        if not all(one.startswith("!") for one in found.values()) and "?" not in found.values():
            mixed = of_two_dtypes(operation, sample)
            return _mixture(outcome(operation, mixed)) + _table(found) if mixed else _table(found)
    return ""


def samples_of(operation: Operation) -> Iterator[dict[str, list[Any]]]:
    """Arguments of the calls that `dtypes_of` tries; none for views, and for writes, which change no dtype."""
    for overload in operation.overloads:
        flags = overload["flags"]
        by_hand = flags & NAMESPACE and not flags & ELEMENT_BY_ELEMENT  # whose inference checks no dtypes
        if not flags & (VIEW | PROPERTY | WRITES | MANY_VIEWS) and not by_hand:
            yield from _samples(overload)


def of_two_dtypes(operation: Operation, sample: dict[str, list[Any]]) -> list[Any]:
    """The first tensor of one dtype, the others of another that it takes, too; empty if there is but one tensor."""
    taken = [name for name, arguments in sample.items() if not outcome(operation, arguments).startswith("!")]
    for first, second in (("float32", "float64"), ("int32", "int64")):
        kinds = [getattr(one, "dtype", None) for one in sample[first]]
        varying = [place for place, kind in enumerate(kinds) if kind == _core.dtypes[first]]
        if {first, second} <= {*taken} and len(varying) > 1:
            return [*sample[first][: varying[0] + 1], *sample[second][varying[0] + 1 :]]
    return []


def _mixture(result: str) -> str:
    if result.startswith("!"):
        return "the operands must be of one dtype; "
    return "operands are promoted to one dtype; " if result.startswith(("float64", "int64", "bool")) else ""


def _samples(overload: Overload) -> Iterator[dict[str, list[Any]]]:
    """For each number of axes, arguments for each dtype that there is; nothing where they cannot be guessed."""
    needed = [one for one in overload["arguments"] if one["default"] is None and not one["optional"]]
    for axes in (2, 1, 3, 4, 5):
        tensors = {name: _core.ops._empty((2,) * axes, kind) for name, kind in _dtypes_that_exist()}
        sample = {name: [_guess(one, tensor, axes) for one in needed] for name, tensor in tensors.items()}
        if not any(one is None for arguments in sample.values() for one in arguments):
            yield sample


def _dtypes_that_exist() -> Iterator[tuple[str, dtype]]:
    for names in DTYPES.values():
        for name in names:
            with contextlib.suppress(NotImplementedError):  # a dtype that has only its name
                _core.ops._empty((), _core.dtypes[name])
                yield name, _core.dtypes[name]


def _guess(argument: dict[str, Any], tensor: Any, axes: int) -> Any:
    name, kind = argument["name"], argument["type"]
    if name in ("index", "indices", "mask", "condition"):
        of_places = name in ("index", "indices") and kind == "Tensor"
        return _core.ops._full((2,) * axes, 0, _core.dtypes["int64" if of_places else "bool"])
    values: dict[str, Any] = {"Tensor": tensor, "Operand": tensor, "Tensor[]": [tensor], "Scalar": 1, "float": 0.5}
    return values.get(kind, {"dim": 0, "n": 1, "k": 1}.get(name) if kind == "int" else (0,) if name in AXES else None)


def outcome(operation: Operation, arguments: list[Any]) -> str:
    """Names of the results' dtypes, "!" and the error, or "?" where it takes values to know."""
    try:
        results = _core.infer(operation, *arguments)
    except NotImplementedError as error:
        return "?" if str(error).startswith("infer:") else "!NotImplementedError"
    except Exception as error:
        return f"!{type(error).__name__}"
    return ", ".join("?" if one is None else _core.dtype_name(one[2]) for one in results)


def _table(found: dict[str, str]) -> str:
    """ "bool and integers give float32; floats and complex stay." """
    parts = {name: outcome.split(", ") for name, outcome in found.items() if outcome[0] != "!"}
    others = {", ".join(part[1:]) for part in parts.values()}  # of indices, say
    if len(others) == 1:
        found = found | {name: part[0] for name, part in parts.items()}
    groups: dict[str, list[str]] = {}
    for name, outcome in found.items():
        groups.setdefault("=" if set(outcome.split(", ")) == {name} else outcome, []).append(name)
    texts = [f"{_listed(names, found)} {_told(outcome, len(names))}" for outcome, names in groups.items()]
    if others - {""} and len(others) == 1:
        texts.append(f"the other result is {others.pop()}")
    return "; ".join(texts) + "."


def _told(outcome: str, count: int) -> str:
    if outcome == "=":
        return "stay" if count > 1 else "stays"
    verb = "raise" if outcome[0] == "!" else "give"
    return f"{verb}{'' if count > 1 else 's'} {outcome.removeprefix('!')}"


def _listed(names: list[str], found: dict[str, str]) -> str:
    """The names, whole groups of them by the group's."""
    parts: list[str] = []
    for group, members in DTYPES.items():
        known = [name for name in members if name in found]
        inside = [name for name in known if name in names]
        parts += [group] if inside == known and known else inside
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
