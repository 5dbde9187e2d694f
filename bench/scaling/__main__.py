"""python -m bench.scaling: measure on 1, 2 and 4 ranks, fit the model on 1 and 2, print, draw."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.scaling import pictures
from bench.scaling.model import Figures, Machine, fitted, over_network
from bench.scaling.ranks import WIRE

RANKS = (1, 2, 4)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m bench.scaling", description="Training by several ranks of one thread.")
    made.add_argument("--mpirun", default="mpirun --oversubscribe", help="the launcher and its options")
    made.add_argument("--json", metavar="FILE", help="write all figures here")
    made.add_argument("--from", dest="saved", metavar="FILE", help="measure nothing: take saved figures")
    made.add_argument("--out", metavar="FOLDER", help="write scaling.svg, overlap.svg and curves.svg here")
    made.add_argument("--trace", metavar="FILE", help="write the timelines as a trace for ui.perfetto.dev")
    return made


def measure(launcher: list[str], module: str) -> dict[int, Any]:
    """What the module writes on each number of ranks."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for ranks in RANKS:
            path = os.path.join(folder, "figures.json")
            program = [sys.executable, "-m", module, path]
            subprocess.run([*launcher, "-n", str(ranks), *program], check=True)
            found[ranks] = json.loads(Path(path).read_text())
    return found


def show(by_ranks: dict[int, Figures], machine: Machine) -> None:
    one, two, four = (by_ranks[ranks]["models"] for ranks in RANKS)
    print(
        "| | 1 rank, nothing reduced | 2 ranks | 4 ranks | weak: 2 ranks' throughput | strong: 2 ranks' speedup |\n"
        "|---|---|---|---|---|---|"
    )
    for name, model in one.items():
        steps = [by_ranks[ranks]["models"][name]["ways"]["many"]["step"] for ranks in RANKS]
        steps[0] = model["alone"]
        weak, strong = 2 * model["alone"] / steps[1], model["alone"] / two[name]["strong"]
        print(f"| {name} | " + " | ".join(_ms(step) for step in steps) + f" | {weak:.2f} | {strong:.2f} |")
    print(f"\nFitted on 2 ranks: {1e6 * machine.latency:.0f} µs a bucket, {machine.bandwidth / 1e9:.2f} GB/s\n")
    print("| | measured | model | off by |\n|---|---|---|---|")
    rows = []
    for name, model in one.items():
        for way, kept in model["ways"].items():
            told = machine.step(model["alone"], kept["sizes"], 4)
            rows.append((f"{name}, 4 ranks, {len(kept['sizes'])} buckets", four[name]["ways"][way]["step"], told))
        for on, run in two[name]["wire"].items():
            told = over_network(model, machine, WIRE, 2, on == "True")
            rows.append(
                (f"{name}, 2 ranks, simulated network, overlap {'on' if on == 'True' else 'off'}", run["step"], told)
            )
    for text, seen, told in rows:
        print(f"| {text} | {_ms(seen)} | {_ms(told)} | {100 * (told / seen - 1):+.0f} % |")


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def main() -> None:
    options = parser().parse_args()
    if options.saved:
        by_ranks = {int(ranks): one for ranks, one in json.loads(Path(options.saved).read_text()).items()}
    else:
        by_ranks = measure(shlex.split(options.mpirun), "bench.scaling.ranks")
    machine = fitted(len(os.sched_getaffinity(0)), by_ranks[1], by_ranks[2])
    if options.json:
        Path(options.json).write_text(json.dumps(by_ranks))
    show(by_ranks, machine)
    wide = by_ranks[2]["models"]["wide"]
    if options.out:
        pictures.scaling(by_ranks, machine, Path(options.out) / "scaling.svg")
        pictures.overlap(wide, f"2 ranks on a network ({WIRE.name})", Path(options.out) / "overlap.svg")
        losses = measure(shlex.split(options.mpirun), "bench.scaling.curves")
        pictures.curves(losses, Path(options.out) / "curves.svg")
    if options.trace:
        Path(options.trace).write_text(json.dumps({"traceEvents": pictures.trace(wide)}))


if __name__ == "__main__":
    main()
