"""python -m bench: measure, compare with what was asked, print, save, draw."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bench import machine, report
from bench.bars import verdicts
from bench.driver import Settings, Team
from bench.rivals import RIVALS
from bench.workload import Workload
from bench.workloads import everything

SWEEP_ROUNDS, SWEEP_SECONDS = 9, 1.5
QUICK = Settings(rounds=3, round_ns=1_000_000, seconds=1.0)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m bench", description="clew beside its rivals, in alternating rounds.")
    made.add_argument("-k", action="append", default=[], metavar="NAME", help="only workloads whose name contains NAME")
    made.add_argument("--rivals", default=",".join(RIVALS), metavar="A,B", help=f"of {', '.join(RIVALS)}")
    made.add_argument("--threads", default="1,2", metavar="1,2")
    made.add_argument("--rounds", type=int, help=f"at most so many rounds (otherwise {Settings.rounds})")
    made.add_argument("--quick", action="store_true", help="few short rounds, few sizes, no compilers, no memory")
    made.add_argument("--no-memory", action="store_true", help="leave out the peaks of memory")
    made.add_argument("--json", metavar="FILE", help="write all figures here")
    made.add_argument("--out", metavar="FOLDER", help="write a page with tables and plots here")
    made.add_argument("--from", dest="saved", nargs="+", metavar="FILE", help="measure nothing: take saved figures")
    made.add_argument("--list", action="store_true", help="print the names of the workloads and their rivals")
    return made


def chosen(options: argparse.Namespace) -> list[Workload]:
    """The workloads that the options name; of the sweep only three sizes if it must be quick."""
    named = [w for w in everything() if not options.k or any(word.lower() in w.name.lower() for word in options.k)]
    if options.quick:
        named = [w for w in named if w.facts().get("size", 1) in (1, 64, 1000, 1024, 1_000_000)]
    return named


def rivals(options: argparse.Namespace) -> list[str]:
    """Those that are asked for and installed; who is not is named on stderr."""
    asked = options.rivals.split(",")
    unknown = [name for name in asked if name not in RIVALS]
    if unknown:
        raise SystemExit(f"--rivals: {', '.join(unknown)} unknown; there are {', '.join(RIVALS)}")
    if options.quick:
        asked = [name for name in asked if name != "torch.compile"]
    present = [name for name in asked if RIVALS[name].is_installed()]
    for name in asked:
        if name not in present:
            print(f'{name} is not installed and left out (pip install ".[bench]")', file=sys.stderr)
    return present


def settings_of(workload: Workload, options: argparse.Namespace) -> Settings:
    settings = QUICK if options.quick else Settings()
    if workload.group == "sweep" and not options.quick:
        settings = replace(settings, rounds=SWEEP_ROUNDS, seconds=SWEEP_SECONDS)
    return replace(settings, rounds=options.rounds) if options.rounds else settings


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All figures, as they go into the JSON file."""
    names, workloads = rivals(options), chosen(options)
    threads = [int(count) for count in options.threads.split(",")]
    rows: list[dict[str, Any]] = []
    memory: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    for count in threads:
        with Team(names, count) as team:
            for number, workload in enumerate(workloads):
                if not workload.timed:
                    continue
                _progress(f"{count} threads, {number + 1}/{len(workloads)}: {workload.name}")
                row = team.measure(workload, settings_of(workload, options)).as_dict()
                if row["results"]:
                    rows.append(row)
            versions |= team.versions()
    if not (options.quick or options.no_memory):
        memory = _peaks(names, [w for w in workloads if w.trains], threads[0])
    _progress("")
    return {
        "command": " ".join(["python -m bench", *sys.argv[1:]]),
        "machine": machine.describe(),
        "versions": versions,
        "rows": rows,
        "memory": memory,
    }


def _peaks(names: Sequence[str], workloads: Iterable[Workload], threads: int) -> list[dict[str, Any]]:
    """The peak of resident memory, each in a fresh process."""
    rows = []
    for workload in workloads:
        _progress(f"memory: {workload.name}")
        row = Team.peaks(names, threads, workload)
        if row["results"]:
            rows.append(row)
    return rows


def _progress(text: str) -> None:
    """A line that is overwritten on a terminal, and lines in a log."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def merged(files: Sequence[str]) -> dict[str, Any]:
    """Saved figures as one; of what is in several files the last counts."""
    whole: dict[str, Any] = {}
    for name in files:
        with open(name) as file:
            part = json.load(file)
        for kind in ("rows", "memory"):
            kept = {(row["workload"], row["threads"]): row for row in [*whole.get(kind, []), *part[kind]]}
            part[kind] = list(kept.values())
        part["versions"] = whole.get("versions", {}) | part["versions"]
        whole = part
    return whole


def show(figures: dict[str, Any]) -> None:
    rows, memory = figures["rows"], figures["memory"]
    plain_rows = [row for row in rows if row["group"] != "sweep"]
    if plain_rows:
        print(report.plain(report.table(plain_rows)))
    for threads in sorted({row["threads"] for row in rows}):
        lines = report.sweep_table(rows, threads)
        if not lines:
            continue
        print(f"\nOperations, {threads} threads: the faster of PyTorch and NumPy over clew (!: more than 5 % slower)")
        print(report.plain(lines))
    if memory:
        print("\nPeak of resident memory over the import's")
        print(report.plain(report.table(memory, "bytes")))
    found = verdicts(rows, memory)
    missed = [verdict for verdict in found if not verdict.is_met]
    print(f"\nAsked: {report.counts(found)}")
    if missed:
        print(report.plain(report.verdict_table(missed)))
    for error in report.errors([*rows, *memory]):
        print(error)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.list:
        for workload in everything():
            takers = [name for name, rival in RIVALS.items() if rival.takes_part(workload)]
            print(f"{workload.name}  [{', '.join(takers)}]" + ("" if workload.timed else "  memory only"))
        return 0
    figures = merged(options.saved) if options.saved else measure(options)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)
    show(figures)
    if options.out:
        from bench import page

        os.makedirs(options.out, exist_ok=True)
        page.write(figures, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
