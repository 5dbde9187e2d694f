"""``docs/benchmarks/README.md``: the tables, the plots, the machine and how to repeat it."""

from __future__ import annotations

import os
from typing import Any

from bench import plots, report
from bench.bars import verdicts
from bench.rivals import RIVALS

_METHOD = """\
How the figures are measured:

* Each library runs in a process of its own, pinned to as many cores as it has threads.
* The results of the libraries are compared before they are timed.
* Rounds alternate, and one process works at a time. The best round counts.
* A figure is the time of one call. In chains it is the time of one product.
* `asked` is the least ratio that is good enough.
* A figure that misses its threshold is measured again at the end, for all libraries, up to twice. All rounds count.
  This is needed because other work on a shared machine disturbs it for minutes.
* *machine* is what the processor can do. For arithmetic it is a loop of fused multiply-adds (`bench/peak_flops.c`,
  built with `-march=native`). Without a C compiler it is the best rate that any library reached. For memory it is
  `numpy.copyto` of 400 MB.
* Bytes are the peak of the resident memory of a fresh process in five calls, minus the memory after the import. Memory
  that a compiler takes at the first call only is not counted. Memory that it keeps is counted."""


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
