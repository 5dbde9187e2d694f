"""What each pass over a plan gives: compiled workloads with the pass left out, beside all passes.

python -m bench.passes                              every pass, every compiled workload (20 minutes)
python -m bench.passes -k GELU -k mini --pass fuse_strips

A figure is the time (or the peak memory) without the pass over that with it: 1.2 means that the pass saves a sixth.
Rounds alternate, in processes of their own, and the best one counts. `CLEW_PASSES=-NAME` leaves a pass out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from bench import report, workloads
from bench.process import Process, RivalError
from bench.rivals import RIVALS
from bench.workload import Workload
from clew import _core

ROUND_NS = 30_000_000
MATTERS = 1.03  # from here on the pass gives something


def process(without: str = "") -> Process:
    """A process in which functions are compiled, perhaps without a pass."""
    settings = {"CLEW_PASSES": f"-{without}"} if without else {}
    return Process(replace(RIVALS["clew.compile"], settings=settings), 1)


def measure(workload: Workload, passes: Sequence[str], rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """For each pass: time and peak memory without it over those with all."""
    processes = {name: process(name) for name in ("", *passes)}
    best: dict[str, float] = {}
    peaks: dict[str, float] = {}
    try:
        for name, one in processes.items():
            peaks[name] = float("inf")
            for _ in range(2):
                peaks[name] = min(peaks[name], one.ask("peak", workload.name))
                one.end()
            one.ask("make", workload.name)
            one.ask("calibrate", ROUND_NS)
        for _ in range(rounds):
            for name, one in processes.items():
                best[name] = min(best.get(name, float("inf")), one.ask("round"))
    finally:
        for one in processes.values():
            one.end()
    return {name: best[name] / best[""] for name in passes}, {name: peaks[name] / peaks[""] for name in passes}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [name for name, _ in _core.passes()]
    parser.add_argument("-k", action="append", default=[], help="only workloads with this in their name")
    parser.add_argument("--pass", dest="passes", action="append", choices=known, help="only these passes")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    passes = options.passes or known
    rival = RIVALS["clew.compile"]
    found: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
    for workload in workloads.everything():
        if (
            not rival.takes_part(workload)
            or not workload.timed
            or (options.k and not any(k in workload.name for k in options.k))
        ):
            continue
        try:
            found[workload.name] = measure(workload, passes, options.rounds)
        except RivalError as error:
            print(f"{workload.name}: {error}")
            continue
        print(workload.name, flush=True)
    for title, which in (("Time without the pass, over the time with all", 0), ("Peak memory, likewise", 1)):
        rows: list[report.Cells] = [["", "most", "where", "workloads"]]
        for name in passes:
            ratios = {workload: both[which][name] for workload, both in found.items()}
            if ratios:
                most = max(ratios, key=ratios.__getitem__)
                above = sum(ratio >= MATTERS for ratio in ratios.values())
                rows.append([name, f"{ratios[most]:.2f}", most, f"{above} of {len(ratios)}"])
        print(f"\n{title}; `workloads`: how many gain 3 % or more")
        print(report.plain(rows))


if __name__ == "__main__":
    main()
