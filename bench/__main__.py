"""python -m bench: measure, compare with what is asked, print, save, draw."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from bench import against, report, session
from bench.bars import verdicts
from bench.driver import Settings
from bench.rivals import OTHERS, RIVALS
from bench.workloads import everything


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m bench", description="clew beside its rivals, in alternating rounds.")
    made.add_argument("-k", action="append", default=[], metavar="NAME", help="only workloads whose name contains NAME")
    made.add_argument("--rivals", metavar="A,B", help=f"of {', '.join(OTHERS)}; all, or beside another clew no other")
    made.add_argument(
        "--against",
        metavar="PYTHON",
        help="another clew as a rival: the interpreter of its environment, or a checkout that has been built",
    )
    made.add_argument("--threads", default="1,2", metavar="1,2")
    made.add_argument("--rounds", type=int, help=f"at most so many rounds (otherwise {Settings().rounds})")
    made.add_argument("--quick", action="store_true", help="few short rounds, few sizes, no torch.compile, no memory")
    made.add_argument("--only", choices=("times", "memory"), help="not both")
    made.add_argument("--json", metavar="FILE", help="write all figures here")
    made.add_argument("--out", metavar="FOLDER", help="write a page with tables and plots here (docs/benchmarks)")
    made.add_argument("--from", dest="saved", nargs="+", metavar="FILE", help="measure nothing: take saved figures")
    made.add_argument("--list", action="store_true", help="print the workloads and who takes part")
    return made


def show(figures: session.Figures) -> None:
    """All tables, then what was asked and missed, then errors."""
    rows, memory = figures["rows"], figures["memory"]
    is_beside_itself = "against" in figures["versions"]
    if is_beside_itself:
        for title, lines in against.tables(rows):
            print(f"{title}\n{report.plain(lines)}\n")
    if not is_beside_itself or len(figures["versions"]) > 2:
        for title, lines in report.tables(rows, memory):
            print(f"{title}\n{report.plain(lines)}\n")
        found = verdicts(rows, memory)
        print(f"Asked: {report.counts(found)}")
        missed = [verdict for verdict in found if not verdict.is_met]
        if missed:
            print(report.plain(report.verdict_table(missed)))
    for error in report.errors([*rows, *memory]):
        print(error)
    if is_beside_itself:
        print(against.conclusion(rows))


def show_list() -> None:
    for workload in everything():
        takers = [name for name in OTHERS if RIVALS[name].takes_part(workload)]
        print(f"{workload.name}  [{', '.join(takers)}]" + ("" if workload.timed else "  memory only"))


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.list:
        show_list()
        return 0
    if options.against and options.out:
        raise SystemExit("--out: the page shows clew beside other libraries; beside another clew use --json")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what is measured by then is kept
    figures = session.merged(options.saved) if options.saved else session.measure(options)
    if options.json:
        session.save(figures, options.json)
    show(figures)
    if options.out:
        from bench import page, readme

        os.makedirs(options.out, exist_ok=True)
        page.write(figures, options.out)
        if os.path.realpath(options.out) == os.path.realpath(readme.FIGURES.parent):
            readme.write(figures)
    return int(any(against.is_slower_twice(row) for row in figures["rows"]))


if __name__ == "__main__":
    sys.exit(main())
