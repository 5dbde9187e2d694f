"""``clew xray SCRIPT``: run a script, then say what happened to its graphs."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .. import _core, memory
from ..graph.explanations.explain import LIMIT
from ..graph.explanations.failures import reason_of
from ..graph.iterations.growth import GrowthWarning
from ..graph.iterations.watch import Watch
from ..graph.memory.timeline import Timeline
from ..graph.model.protocol import Node
from ..graph.notes.finding import Finding
from ..graph.notes.observer import Observer
from ..graph.pictures.picture import Picture
from ..optim.optimizer import watchers
from . import per_test, report, script
from .held import Held, find_held, kept_graphs, living_leaves, scopes_at_the_end
from .output import flush
from .place import At
from .recorder import Backward, GrowthCurve, Recorder, Replays
from .stepping import Stepper

if TYPE_CHECKING:
    from ..graph.numerics.precision import Precision
    from .digits import Digits

HELP = "run a script, then report what its graphs saved and which line freed it"
DESCRIPTION = """\
Run a Python script, then print a report: the graph of the last backward as a tree, what was saved and freed, what keeps
a graph alive, and where the time of a step went. The script's output and exit code do not change.
"""


@dataclass(frozen=True, slots=True)
class Report:
    """What happened to the graphs of one run."""

    script: str
    at: At | None
    chosen: Backward | None
    passes: tuple[Backward, ...]
    backward_lines: tuple[str, ...]
    counters: Mapping[str, int]
    peak_bytes: int
    held: tuple[Held, ...]
    growth: tuple[GrowthWarning, ...]
    error: BaseException | None
    failed: Picture | None = None  # the graph in which that was, under ``--html``
    curve: GrowthCurve = field(default_factory=GrowthCurve)  # under ``--html``
    notes: tuple[Finding, ...] = ()
    tests: tuple[per_test.TestRecord, ...] = ()
    replays: tuple[Replays, ...] = ()
    precision: Precision | None = None  # under ``--precision``

    @property
    def timeline(self) -> Timeline | None:
        """The memory of one step, under ``--html``."""
        return self.chosen.timeline if self.chosen else None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--at",
        type=At.parse,
        metavar="[FILE:]LINE",
        help="show the backward called from this line, not the last one; LINE alone is a line of the script",
    )
    parser.add_argument(
        "--limit",
        type=_at_least_one,
        default=LIMIT,
        metavar="N",
        help="nodes to show, at least 1 (default: %(default)s)",
    )
    parser.add_argument("--html", metavar="FILE", help="also write the report as a page, with the graph and the memory")
    parser.add_argument(
        "--step", action="store_true", help="show a backward node by node: the first one, or that of --at"
    )
    parser.add_argument(
        "--precision",
        action="store_true",
        help="also run the operations of the first two steps in float64, and say which lines lose digits",
    )
    script.add_arguments(parser)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of nodes, 1 or more, got {text!r}")
    return int(text)


def main(options: argparse.Namespace) -> int:
    """Run and report. Returns the script's exit code, or 2 if it is not a script."""
    try:
        loaded = script.load(options)
    except script.NotAScript as error:
        print(f"clew xray: {error}", file=sys.stderr)
        return 2
    script.warn_of_own_options("xray", options, add_arguments)
    if options.html is not None and (problem := _cannot_write(options.html)):
        print(f"clew xray: --html {options.html}: expected a file that can be written, got: {problem}", file=sys.stderr)
        return 2
    at = options.at and options.at.within(loaded.file)
    arguments = options.arguments
    if options.is_module and options.script == "pytest":
        arguments = ["-p", "clew.cli.pytest_plugin", *arguments]
    recorder = Recorder(options.limit, at, draws=options.html is not None)
    watch, observer = Watch(warn=False), Observer(watchers)
    stepper = Stepper(at)
    digits: Digits | None = None
    before = _counters()
    own_bytes = memory.stats().live  # constants of clew's own operations
    memory.reset_peak()
    watch.start()
    observer.start()
    recorder.start()
    if options.step:
        stepper.start()
    if options.precision:
        from .digits import Digits

        digits = Digits()
        digits.start()
    try:
        ending = script.run(loaded, arguments, "xray")
    finally:
        if digits is not None:
            digits.stop()
        stepper.stop()
        recorder.stop()
        observer.stop()
        watch.stop()
    flush()
    found = _report(options, ending, recorder, watch, observer, before, own_bytes, digits.answer if digits else None)
    report.show(found)
    if options.html is not None:
        from .html import page

        page(found).save(options.html)
    if isinstance(ending.error, KeyboardInterrupt):
        script.end_by_interrupt(ending.error)
    return ending.exit_code


def _report(
    options: argparse.Namespace,
    ending: script.Ending,
    recorder: Recorder,
    watch: Watch,
    observer: Observer,
    before: Mapping[str, int],
    own_bytes: int,
    precision: Precision | None,
) -> Report:
    after = _counters()
    counters = {name: after[name] - before.get(name, 0) for name in after}
    scopes = scopes_at_the_end(ending)
    recorder.describe(scopes)
    chosen, at = recorder.last, recorder.at
    if at is not None:
        passes = recorder.backward_passes.items()
        chosen = next((backward for place, backward in passes if at.matches(*place)), None)
    held = tuple(find_held(scopes))
    lists = tuple(kept_graphs(held, watch.warnings, recorder.passes_through()))
    told = {finding.place for finding in lists}
    rest = [warning for warning in watch.rest(scopes) if warning.made_at not in told]
    return Report(
        script=options.script,
        at=at,
        chosen=chosen,
        passes=tuple(recorder.backward_passes.values()),
        backward_lines=tuple(backward.place.short for backward in recorder.backward_passes.values()),
        counters=counters,
        peak_bytes=memory.stats().peak - own_bytes,
        held=held,
        growth=(*watch.warnings, *rest),
        error=ending.error,
        failed=_failed(ending.error, recorder.running) if ending.error is not None else None,
        curve=recorder.growth,
        notes=(*observer.findings(), *lists),
        tests=tuple(per_test.finished),
        replays=recorder.replays,
        precision=precision,
    )


def _counters() -> dict[str, int]:
    return {**_core.graph_counters(), "leaves_alive": living_leaves()}


def _failed(error: BaseException, roots: tuple[Node, ...]) -> Picture | None:
    """The graph of the backward that this ended; None where it was not one."""
    from ..graph.pictures.failed import draw_failed

    reason = reason_of(error)
    if not roots or getattr(reason, "node", None) is None:
        return None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return draw_failed(reason, frames[::-1], roots)


def _cannot_write(path: str) -> str | None:
    """Why the report could not be written there; found out before the script runs, not after."""
    if os.path.isdir(path):
        return "a folder"
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f"no folder {folder}"
    return None if os.access(path if os.path.exists(path) else folder, os.W_OK) else "no permission"
