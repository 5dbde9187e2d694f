"""Compares clew with PyTorch on random programs.

    python -m tests.fuzz --programs 100000 --seconds 7200 --seed X --jobs 2
    python -m tests.fuzz --run "x = torch.ones(3, requires_grad=True); y = x * 2"

Prints a program of one line for each kind of difference, the smallest that was seen. Exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]


def main() -> int:
    import fuzz_deviations
    import fuzz_run
    import fuzz_session
    import torch

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, help="stop after so many programs")
    parser.add_argument("--seconds", type=float, help="stop after so long (60, if --programs is not given)")
    parser.add_argument("--seed", default="0", help="a text; the same seed draws the same programs")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--run", metavar="PROGRAM", help="compare this program only")
    parser.add_argument("--ignore", metavar="FILE", help="leave out finds that match a line (a regular expression)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")

    patterns = []
    if given.ignore:
        lines = Path(given.ignore).read_text().splitlines()
        patterns = [re.compile(line) for line in lines if line and not line.startswith("#")]

    def allowed(found: fuzz_session.Difference) -> object:
        said = f"{found.key()} | {found.text} | {found.statement}"
        return fuzz_deviations.allowed(found) or any(pattern.search(said) for pattern in patterns)

    if given.run:
        found = fuzz_session.run_program(fuzz_session.split(given.run), None, allowed)
        print(f"{found.key()}\n  {found.text}\n  after {found.statement}" if found else "no difference")
        return 1 if found else 0

    def show(kind: str, found: fuzz_session.Difference) -> None:
        print(f"{kind}\n  {found.text}\n  {fuzz_run.one_line(found)}", flush=True)

    seconds = given.seconds if given.seconds or given.programs else 60.0
    report = fuzz_run.run(given.seed, given.programs, seconds, given.jobs, allowed, show)
    rate = report.programs / max(report.seconds, 1e-9)
    print(
        f"{report.programs} programs, {report.statements} statements in {report.seconds:.0f} s ({rate:.0f} a second), "
        f"seed {given.seed!r}: {len(report.finds)} kinds of difference"
    )
    for kind, count in report.counts.most_common():
        print(f"{count:6} {kind}")
    for kind, found in report.once.items():
        print(f"       {kind}, but not when it runs alone: {fuzz_run.one_line(found)}")
    for name, count in report.unsupported.most_common(20):
        print(f"{count:6} ended by what clew does not have: {name}")
    return 1 if report.finds else 0


if __name__ == "__main__":
    sys.exit(main())
