"""``docs/benchmarks/README.md``: the tables, the plots, the machine and how to repeat it."""

from __future__ import annotations

import os
from typing import Any

from bench import plots, report
from bench.bars import verdicts
from bench.rivals import RIVALS

_METHOD = """\
Each library runs in a process of its own, pinned to as many cores as it has threads. What they compute is compared
before it is timed. Rounds alternate, one process works at a time, and the best round counts: a figure is the time
of one call (in chains: of one product). What misses its bar is measured again when all else is done, by all its
rivals and up to twice, because the neighbours of a shared machine are loud for minutes; all rounds count. `asked` is
the least ratio that is good enough. *machine* is what the processor can do: a loop of nothing but fused multiply-adds
(`bench/peak_flops.c`, built with `-march=native`; without a C compiler the best rate that any library reached), and
`numpy.copyto` of 400 MB. Bytes are the peak of a fresh process's resident memory in five calls, over what the import
left; what a compiler takes at the first call is not counted, what it leaves is."""


def write(figures: dict[str, Any], folder: str) -> None:
    """Write the page, its pictures, and the figures that both are made from."""
    rows, memory = figures["rows"], figures["memory"]
    found = verdicts(rows, memory)
    parts = ["# Benchmarks", _how(figures), "## What is asked", report.counts(found) + "."]
    missed = [verdict for verdict in found if not verdict.is_met]
    if missed:
        parts += ["Missed:", report.markdown(report.verdict_table(missed))]
    pictures = plots.draw(rows, memory, folder)
    parts += ["## Pictures", *(f"![{says}]({name})" for name, says in pictures.items())] if pictures else []
    for title, lines in report.tables(rows, memory):
        parts += [f"## {title}", report.markdown(lines)]
    errors = report.errors([*rows, *memory])
    if errors:
        parts += ["## What could not be done", "\n".join(f"* {error}" for error in errors)]
    with open(os.path.join(folder, "README.md"), "w") as file:
        file.write("\n\n".join(parts) + "\n")


def _how(figures: dict[str, Any]) -> str:
    told = figures["machine"]
    versions = [f"{RIVALS[name].label} {version}" for name, version in figures["versions"].items() if name != "machine"]
    absent = figures.get("left out", [])
    return "\n".join(
        [
            f"Written by `{figures['command']}` at commit {told['commit']}, {told['date']}.",
            "",
            f"* {told['processor']} ({told['family']}), {told['processors']} processors, "
            + ", ".join(f"{name} {size}" for name, size in told["caches"].items())
            + f", {told['memory']}; governor {told['governor']}; {', '.join(told['flags'])}",
            f"* {told['system']}, CPython {told['python']}",
            "* " + ", ".join(versions) + (f"; left out: {', '.join(absent)}" if absent else ""),
            "",
            *_METHOD.splitlines(),
        ]
    )
