"""``docs/benchmarks/README.md``: the tables, the plots, the machine and how to repeat it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from bench import plots, report
from bench.bars import verdicts
from bench.rivals import RIVALS


def write(figures: dict[str, Any], folder: str) -> None:
    rows, memory = figures["rows"], figures["memory"]
    threads = sorted({row["threads"] for row in rows})
    parts = ["# Benchmarks", _how(figures)]
    found = verdicts(rows, memory)
    parts += [f"## What was asked\n{report.counts(found)}."]
    missed = [verdict for verdict in found if not verdict.is_met]
    if missed:
        parts.append("Missed:\n\n" + report.markdown(report.verdict_table(missed)))
    parts += _with_picture(plots.ratios(rows, folder), "PyTorch's time over clew's for each workload")
    for count in threads:
        chosen = [row for row in rows if row["threads"] == count and row["group"] in ("overhead", "training")]
        parts += _section(f"Workloads, {_threads(count)}", report.table(chosen))
    parts += _section("Size of the graph", report.table([row for row in rows if row["group"] == "graph size"]))
    parts += _with_picture(plots.graph_size(rows, folder), "time against the length of a chain")
    parts += _section(
        "Matrix products and copy", report.table([row for row in rows if row["group"] in ("matmul", "bandwidth")])
    )
    for count in threads:
        title = f"Operations, {_threads(count)}: the faster of PyTorch and NumPy over clew"
        parts += _section(title, report.sweep_table(rows, count))
        parts += _with_picture(plots.tensor_size(rows, folder, count), "time against the number of elements")
    parts += _section("Peak of resident memory over the import's", report.table(memory, "bytes"))
    parts += _with_picture(plots.depth(memory, folder), "bytes against depth")
    with open(os.path.join(folder, "README.md"), "w") as file:
        file.write("\n\n".join(parts) + "\n")


def _threads(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def _section(title: str, lines: Sequence[list[str]]) -> list[str]:
    return [f"## {title}", report.markdown(lines)] if len(lines) > 1 else []


def _with_picture(name: str | None, says: str) -> list[str]:
    return [f"![{says}]({name})"] if name else []


def _how(figures: dict[str, Any]) -> str:
    told = figures["machine"]
    versions = ", ".join(
        f"{RIVALS[name].label} {version}" for name, version in figures["versions"].items() if name != "machine"
    )
    caches = ", ".join(f"{name} {size}" for name, size in told["caches"].items())
    return (
        f"Written by `{figures['command']}` at commit {told['commit']}, {told['date']}.\n\n"
        f"* {told['processor']} ({told['family']}), {told['processors']} processors, {caches}, {told['memory']}; "
        f"governor {told['governor']}; {', '.join(told['flags'])}\n"
        f"* {told['system']}, CPython {told['python']}\n"
        f"* {versions}\n\n"
        "Each library runs in a process of its own, pinned to as many cores as it has threads; rounds alternate, one "
        "process works at a time. "
        "What they compute is compared before it is timed. A figure is the best round's time of one call."
    )
