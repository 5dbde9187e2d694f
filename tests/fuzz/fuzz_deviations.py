"""What docs/deviations.toml lets differ."""

from __future__ import annotations

import functools
import re
import tomllib
import types
from pathlib import Path
from typing import Any

import clew

DATA = Path(__file__).resolve().parent.parent.parent / "docs" / "deviations.toml"

# Differences in what a graph computes are found after the operation that makes them.
LATER = {"gradient", "second", "hooks", "raises"}
COMPOSITIONS = "@compositions"


@functools.cache
def rules() -> list[tuple[str, set[str], set[str], re.Pattern[str]]]:
    """(name, operations, aspects, pattern) of all entries that comparisons have to know."""
    return [
        (entry["name"], set(one["operations"]), set(one["aspects"]), re.compile(one.get("when", ""), re.DOTALL))
        for entry in tomllib.loads(DATA.read_text())["deviation"]
        for one in entry.get("differs", [])
    ]


def plain(operation: str) -> str:
    return operation if operation.endswith("__") else operation.rstrip("_")


@functools.cache
def is_composition(operation: str) -> bool:
    """Whether it is written in Python in terms of others: a function beside which the registry has nothing."""
    own = operation.rpartition(".")[2]
    found = functools.reduce(lambda where, name: getattr(where, name, None), operation.split("."), clew)
    found = found or getattr(clew.Tensor, own, getattr(clew.Tensor, own + "_", None))
    wrapped = any(hasattr(clew._core.ops, name) for name in (own, own + "_", "_" + own))
    return isinstance(found, types.FunctionType) and not wrapped


@functools.cache
def is_also_functional(operation: str) -> bool:
    """Whether it is a second name of a function of nn.functional: cosine_similarity."""
    function = getattr(clew, operation, None) if hasattr(clew.nn.functional, operation) else None
    return isinstance(function, types.FunctionType) and function is getattr(clew.nn.functional, operation)


@functools.cache
def known_nodes() -> set[str]:
    """The nodes that operations of the registry make."""
    every = [one for one in vars(clew._core.ops).values() if isinstance(one, clew._core.Operation)]
    return {overload["node"] for one in every for overload in one.overloads}


def of_composition(operations: set[str], text: str) -> bool:
    """A composition has the nodes of its parts; where PyTorch's node is one that clew has, too, it has to be that."""
    theirs = re.search(r"in PyTorch \S*?(\w+) \(\w+\)$", text)
    known = theirs is not None and theirs[1] in known_nodes()
    return not known and any(map(is_composition, operations))


def allowed(difference: Any) -> str | None:
    """The deviation that a difference is, if it is one."""
    from fuzz_session import operation_of

    aspect = difference.aspect.removeprefix("grad.")
    said = f"{difference.text} | {difference.statement} | {'; '.join(difference.program)} | memory: {difference.memory}"
    operations = {plain(difference.operation)}
    if aspect in LATER:
        operations |= {plain(operation_of(statement)) for statement in difference.program}
    operations |= {f"nn.functional.{one}" for one in operations if is_also_functional(one)}
    for name, concerned, aspects, pattern in rules():
        if aspect not in aspects or not pattern.search(said):
            continue
        composed = COMPOSITIONS in concerned and of_composition(operations, difference.text)
        if composed or concerned & operations or "*" in concerned:
            return name
    return None
