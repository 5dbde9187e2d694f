"""What docs/deviations.toml lets differ."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent.parent / "docs" / "deviations.toml"

# Differences in what a graph computes are found after the operation that makes them.
LATER = {"gradient", "second", "hooks", "raises"}


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


def allowed(difference: Any) -> str | None:
    """The deviation that a difference is, if it is one."""
    from fuzz_session import operation_of

    aspect = difference.aspect.removeprefix("grad.")
    said = f"{difference.text} | {difference.statement} | {'; '.join(difference.program)}"
    operations = {plain(difference.operation)}
    if aspect in LATER:
        operations |= {plain(operation_of(statement)) for statement in difference.program}
    for name, concerned, aspects, pattern in rules():
        concerns = aspect in aspects and (concerned & operations or "*" in concerned)
        if concerns and pattern.search(said):
            return name
    return None
