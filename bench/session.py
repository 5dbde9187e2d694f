"""A run from end to end: which workloads and rivals, all figures, and their file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bench import against, machine
from bench.bars import rows_of, verdicts
from bench.driver import Settings, Team, with_more_rounds
from bench.rivals import OTHERS, RIVALS, choose_against
from bench.workload import Workload
from bench.workloads import everything

Figures = dict[str, Any]

SWEEP = Settings(rounds=9, seconds=1.2)
QUICK = Settings(rounds=3, round_ns=1_000_000, seconds=0.8)
TURNS = 2  # how often what missed its bar is measured again
QUICK_SIZES = (1, 64, 1000, 1024, 1_000_000)


def chosen(options: argparse.Namespace) -> list[Workload]:
    """The workloads that the options name; of the sweeps only some sizes if it must be quick."""
    named = [w for w in everything() if not options.k or any(word.lower() in w.name.lower() for word in options.k)]
    if options.quick:
        named = [w for w in named if w.facts().get("size", 1) in QUICK_SIZES and w.facts().get("links", 1) <= 10_000]
    return named


def asked_rivals(options: argparse.Namespace) -> list[str]:
    """All, unless some are named; beside another clew none but those that are named."""
    if options.rivals:
        return str(options.rivals).split(",")
    return ["clew"] if options.against else list(OTHERS)


def rivals(options: argparse.Namespace) -> list[str]:
    """Those that are asked for and installed; who is not is named on stderr."""
    asked = asked_rivals(options)
    unknown = [name for name in asked if name not in OTHERS]
    if unknown:
        raise SystemExit(f"--rivals: {', '.join(unknown)} unknown; there are {', '.join(OTHERS)}")
    if options.against:
        choose_against(options.against)
        asked = ["clew", "against", *(name for name in asked if name != "clew")]
    if options.quick:
        asked = [name for name in asked if name != "torch.compile"]
    present = [name for name in asked if RIVALS[name].is_installed()]
    for name in asked:
        if name not in present:
            print(f'{name}: not installed, left out (pip install ".[bench]")', file=sys.stderr)
    return present


def settings_of(workload: Workload, options: argparse.Namespace) -> Settings:
    settings = QUICK if options.quick else SWEEP if workload.group == "sweep" else Settings()
    return replace(settings, rounds=options.rounds) if options.rounds else settings


def measure(options: argparse.Namespace) -> Figures:
    """All figures. What an interrupt (or SIGTERM) leaves undone is left out."""
    names, workloads = rivals(options), chosen(options)
    threads = [int(count) for count in options.threads.split(",")]
    figures: Figures = {
        "command": " ".join(["python -m bench", *(f"'{word}'" if " " in word else word for word in sys.argv[1:])]),
        "machine": machine.describe(),
        "versions": {},
        "left out": [name for name in asked_rivals(options) if name not in names],
        "rows": [],
        "memory": [],
    }
    try:
        for count in threads if options.only != "memory" else ():
            _times(figures, names, [w for w in workloads if w.timed], count, options)
        if options.against and options.only != "memory":
            _second_run(figures, workloads, options)
        asks_again = options.only != "memory" and not (options.quick or options.rounds or names == ["clew", "against"])
        for turn in range(TURNS if asks_again else 0):
            _again(figures, names, workloads, turn, options)
        if options.only == "memory" or not (options.quick or options.only or options.against):
            _peaks(figures, names, [w for w in workloads if w.trains], threads[0])
    except KeyboardInterrupt:
        print("\ninterrupted: what there is so far", file=sys.stderr)
    _progress("")
    return figures


def _times(
    figures: Figures, names: Sequence[str], workloads: Sequence[Workload], threads: int, options: argparse.Namespace
) -> None:
    with Team(names, threads) as team:
        if "against" in names:
            team.check_distinct("clew", "against")
        for number, workload in enumerate(workloads):
            _progress(f"{threads} threads, {number + 1}/{len(workloads)}: {workload.name}")
            row = team.measure(workload, settings_of(workload, options)).as_dict()
            if row["results"]:
                figures["rows"].append(row)
            figures["versions"] |= team.versions()


def _second_run(figures: Figures, workloads: Sequence[Workload], options: argparse.Namespace) -> None:
    """In new processes, what was slower than the other clew: only what is so twice counts."""
    by_name = {workload.name: workload for workload in workloads}
    slower = [row for row in figures["rows"] if against.is_slower(row["group"], row["results"])]
    for threads in sorted({row["threads"] for row in slower}):
        with Team(["clew", "against"], threads) as team:
            for row in (row for row in slower if row["threads"] == threads):
                _progress(f"{threads} threads, second run: {row['workload']}")
                workload = by_name[row["workload"]]
                row["second run"] = team.measure(workload, settings_of(workload, options)).as_dict()["results"]


def _again(
    figures: Figures, names: Sequence[str], workloads: Sequence[Workload], turn: int, options: argparse.Namespace
) -> None:
    """More rounds, of all rivals, for what missed its bar.

    The neighbours of a shared machine are loud for minutes, which is longer than a row takes: hence at the end.
    """
    missed = {(name, v.threads) for v in verdicts(figures["rows"]) if not v.is_met for name in rows_of(v)}
    by_name = {workload.name: workload for workload in workloads}
    for threads in sorted({count for _, count in missed}):
        rows = [row for row in figures["rows"] if row["threads"] == threads and (row["workload"], threads) in missed]
        with Team(names, threads) as team:
            for row in rows:
                _progress(f"{threads} threads, again ({turn + 1}): {row['workload']}")
                workload = by_name[row["workload"]]
                with_more_rounds(row, team.measure(workload, settings_of(workload, options)).as_dict())


def _peaks(figures: Figures, names: Sequence[str], workloads: Sequence[Workload], threads: int) -> None:
    for number, workload in enumerate(workloads):
        _progress(f"memory, {number + 1}/{len(workloads)}: {workload.name}")
        row = Team.peaks(names, threads, workload)
        if row["results"]:
            figures["memory"].append(row)


def _progress(text: str) -> None:
    """A line that is overwritten on a terminal, and lines in a log."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def save(figures: Figures, name: str) -> None:
    """One line a workload."""
    with open(name, "w") as file:
        file.write("{\n")
        for key, value in figures.items():
            if key in ("rows", "memory"):
                lines = ",\n".join("  " + json.dumps(row) for row in value)
                file.write(f' "{key}": [\n{lines}\n ]' + (",\n" if key == "rows" else "\n"))
            else:
                file.write(f' "{key}": {json.dumps(value)},\n')
        file.write("}\n")


def merged(files: Sequence[str]) -> Figures:
    """Saved figures as one; of what is in several files the last counts."""
    whole: Figures = {}
    for name in files:
        with open(name) as file:
            part: Figures = json.load(file)
        for kind in ("rows", "memory"):
            kept = {(row["workload"], row["threads"]): row for row in [*whole.get(kind, []), *part[kind]]}
            part[kind] = list(kept.values())
        part["versions"] = whole.get("versions", {}) | part["versions"]
        whole = part
    places = {workload.name: place for place, workload in enumerate(everything())}
    for kind in ("rows", "memory"):
        whole[kind].sort(key=lambda row: (row["threads"], places.get(row["workload"], len(places))))
    return whole
