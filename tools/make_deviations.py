"""Writes docs/deviations.md from docs/deviations.toml, whose header says what an entry holds, and what docstrings name.

python tools/make_deviations.py           writes the page and src/clew/deviations.json
python tools/make_deviations.py --check   fails if it is not up to date
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "docs" / "deviations.toml"
PAGE = ROOT / "docs" / "deviations.md"
TABLE = ROOT / "src" / "clew" / "deviations.json"

TEXTS = ("name", "section", "what", "ours", "pytorch", "reason", "probe", "our_outcome", "pytorch_outcome")
ASPECTS = {
    "value", "dtype", "shape", "strides", "requires_grad", "retains_grad", "leaf", "version", "view", "node",
    "gradient", "second", "raises", "exception", "hooks",
}  # fmt: skip

INTRODUCTION = """# Where clew differs from PyTorch, on purpose

This page lists the known differences between clew and PyTorch 2.13 on the CPU. Each entry has a program that the tests
run under both libraries. A test fails if an entry no longer differs as described. Random comparisons of the two
libraries ignore the differences of this page, and no others.

If a result differs and is not listed here, please report it as a bug. Two kinds of differences are listed elsewhere:
names and arguments that clew lacks ([coverage](coverage.md), [README](../README.md#what-it-does-not-do)), and text
that is printed for people, such as the rest of an error message after PyTorch's sentence.

<!-- Written by tools/make_deviations.py from docs/deviations.toml. -->
"""

Entry = dict[str, Any]


def entries() -> list[Entry]:
    """The deviations. An entry that is not well formed is a ValueError.

    One with a ``capability`` is of PyTorch's kernels for such processors, as ``get_cpu_capability()`` names them.
    """
    found: list[Entry] = tomllib.loads(DATA.read_text())["deviation"]
    for entry in found:
        for key in TEXTS:
            if not entry.get(key):
                raise ValueError(f"{DATA.name}: {entry.get('name', '?')}: expected a text for {key!r}")
        if unknown := set(entry) - {*TEXTS, "differs", "capability"}:
            raise ValueError(f"{DATA.name}: {entry['name']}: unknown {sorted(unknown)}")
        for one in entry.get("differs", []):
            groups = {operation for operation in one["operations"] if operation.startswith("@")}
            known = set(one) <= {"operations", "aspects", "when"} and groups <= {"@compositions"}
            if not known or not set(one["aspects"]) <= ASPECTS:
                raise ValueError(
                    f"{DATA.name}: {entry['name']}: expected operations, aspects of {sorted(ASPECTS)}, when"
                )
    names = [entry["name"] for entry in found]
    if len(set(names)) < len(names):
        raise ValueError(f"{DATA.name}: a name stands twice")
    return found


def outcome(probe: str, library: object) -> str:
    """repr(result) of the program, or `Type: message` of what it raises."""
    names: dict[str, Any] = {"torch": library}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(probe, "<probe>", "exec"), names)
            return repr(names["result"])
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def agrees(got: str, stated: str) -> bool:
    """Whether the outcome is the one stated, or one of these. Of exceptions, whose texts go on, the start counts."""
    return any(
        got == one or (one.partition(":")[0].endswith(("Error", "Exception")) and got.startswith(one))
        for one in stated.split("\nor ")
    )


def page() -> str:
    lines = [INTRODUCTION]
    found = entries()
    for section in dict.fromkeys(entry["section"] for entry in found):
        lines.append(f"## {section}\n")
        for entry in found:
            if entry["section"] != section:
                continue
            lines.append(f'<a id="{entry["name"]}"></a>\n\n### {entry["what"]}\n')
            lines.append(f"```python\n{entry['probe'].strip()}\n```\n")
            lines.append("| | | result of the program |\n|---|---|---|")
            for who, words, result in (
                ("clew", entry["ours"], entry["our_outcome"]),
                ("PyTorch 2.13", entry["pytorch"], entry["pytorch_outcome"]),
            ):
                shown = result.replace("|", "\\|").replace("\n", " ")
                lines.append(f"| {who} | {words} | `{shown}` |")
            lines.append(f"\n{entry['reason']}\n")
    return "\n".join(lines)


def table() -> str:
    """For each operation that headings of the page name, these headings."""
    found: dict[str, list[str]] = {}
    for entry in entries():
        for name in re.findall(r"`([a-z]\w*(?:\.\w+)*?)_?`", entry["what"]):
            found.setdefault(name, []).append(entry["what"])
    lines = [f"{json.dumps(name)}: {json.dumps(headings)}" for name, headings in sorted(found.items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    texts = {PAGE: page(), TABLE: table()}
    if "--check" in sys.argv[1:]:
        for path, text in texts.items():
            if not path.exists() or path.read_text() != text:
                print(f"{path.relative_to(ROOT)} is not up to date: run tools/make_deviations.py")
                return 1
        return 0
    for path, text in texts.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
