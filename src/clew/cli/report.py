"""The text of ``clew xray``: plain, or with colour where ``rich`` is installed and someone looks."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..graph.explanations.text import render
from ..graph.model.wording import as_ascii, bytes_text, counted, freed_text
from . import per_test, replays
from .held import grouped, growing
from .output import drop_the_rest, flush
from .recorder import Backward, Step

if TYPE_CHECKING:
    from ..graph.notes.finding import Finding
    from .held import Held
    from .xray import Report

_WIDTH = 100
_MOST_HOLDERS = 10
_MOST_LINES = 3  # that called backward, beside the one that is shown
_COLOURS = {
    r"● #\d+ ([\w.]+ · \w+: )?\w+": "bold",
    r"○ #\d+ leaf [\w.\[\]']*": "green",
    r"[^\s/]+\.py:\d+( in [\w<>.]+)?": "cyan",
    r"\bfreed\b": "dim",
    r"\bheld\b": "yellow",
    r"^── .*": "bold blue",
}


def show(report: Report) -> None:
    """Print it on stdout, in what the terminal can show."""
    try:
        _print(report)
        flush()
    except BrokenPipeError:  # the exit code remains the script's
        drop_the_rest()


def _print(report: Report) -> None:
    text = "\n" + as_text(report)
    encoding = sys.stdout.encoding or "ascii"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = as_ascii(text).encode(encoding, "backslashreplace").decode(encoding)
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            painted = Text(text)
            for pattern, style in _COLOURS.items():
                painted.highlight_regex(re.compile(pattern, re.MULTILINE), style)
            Console(soft_wrap=True).print(painted)
            return
    print(text)


def as_text(report: Report) -> str:
    """The whole report."""
    parts = [_rule(f"clew xray {report.script}")]
    if report.error is not None:
        message = str(report.error).replace("\n", "\n  ")
        parts.append(f"The script ended in {type(report.error).__name__}:\n  {message}")
    if notes := notes_of(report):
        parts.append("\n".join([_rule("notes"), *(f"  {found}" for found in notes)]))
    if report.tests:
        parts.append("\n".join([_rule("tests"), *per_test.lines(report.tests)]))
    if report.precision is not None:
        parts.append(f"{_rule('precision')}\n{report.precision}")
    parts.append(_graph(report))
    if report.counters["nodes_built"] or not _told_of_pytorch():
        parts.append(_totals(report))
    if report.chosen is not None and not report.tests:
        parts.append(_step(report.chosen))
    if report.replays:
        parts.append("\n".join([_rule("replays"), *replays.lines(report.replays)]))
    return "\n\n".join(parts)


def notes_of(report: Report) -> list[Finding]:
    """What raises no error but is usually a bug."""
    return [*report.notes, *(growing(found, report.held) for found in report.growth)]


def _rule(title: str) -> str:
    return f"── {title} ".ljust(_WIDTH, "─")


def _graph(report: Report) -> str:
    chosen = report.chosen
    if chosen is None or chosen.explanation is None:
        if report.backward_lines:
            lines = ", ".join(report.backward_lines)
            return f"No backward was called from {report.at}; backward was called from {lines}."
        return "No backward pass ended: neither backward() nor autograd.grad() returned." + _told_of_pytorch()
    which = f"The last of {chosen.count:,} backward passes" if chosen.count > 1 else "The only backward"
    source = f": {chosen.place.source}" if chosen.place.source else ""
    return f"{which} called from {chosen.place}{source}\n{_of_other_lines(report)}{render(chosen.explanation)}"


def _of_other_lines(report: Report) -> str:
    """Where backward was called, too, and how to see that."""
    others = [one for one in report.passes if one is not report.chosen]
    if not others:
        return ""
    places = [f"{one.count:,} from {one.place.short}" for one in others[:_MOST_LINES]]
    if len(others) > _MOST_LINES:
        places.append(f"{sum(one.count for one in others[_MOST_LINES:]):,} from other lines")
    return f"Others: {', '.join(places)}; --at {others[0].place.short} shows the graph of that line\n"


def _told_of_pytorch() -> str:
    """What to do if the script ran on PyTorch itself."""
    pytorch = sys.modules.get("torch")
    if pytorch is None or type(pytorch).__module__ == "clew._as_torch":
        return ""
    told = "The script imported PyTorch, and clew can't see PyTorch's graphs."
    return f"\n{told} To do: run it on clew, by `clew xray --as-torch`"


def totals_rows(report: Report) -> list[tuple[str, str]]:
    """What was built, saved and freed: a name and a text each."""
    counters = report.counters
    held_bytes = counters["bytes_saved"] - counters["bytes_freed_by_backward"] - counters["bytes_freed_by_scope"]
    alive = f"{counted(_alive(report), 'node')} and {counted(counters['leaves_alive'], 'leaf')}"
    return [
        ("nodes built", f"{counters['nodes_built']:,}, those of leaves included"),
        ("bytes saved by nodes", bytes_text(counters["bytes_saved"])),
        ("peak of all tensors", f"{bytes_text(report.peak_bytes)}, graph metadata not included"),
        ("freed by backward", _freed(counters, "backward")),
        ("released with the last reference", _freed(counters, "scope")),
        ("still held", f"{alive}, {bytes_text(held_bytes)} saved"),
    ]


def holder_rows(report: Report) -> list[tuple[str, str, str]]:
    """Who still holds a graph: variables, how much, and the line that made it."""
    rows = [_holder(group) for group in grouped(report.held)]
    unnamed = _alive(report) - sum(one.nodes for one in report.held)
    if unnamed > 0:
        rows.append(("something that no variable of the script references", counted(unnamed, "node"), ""))
    return rows


def _alive(report: Report) -> int:
    return report.counters["nodes_alive"] - report.counters["leaves_alive"]


def _totals(report: Report) -> str:
    lines = [_rule("totals of the run"), *_table(totals_rows(report))]
    holders = [f"    by {who}: {much}{made and f', created at {made}'}" for who, much, made in holder_rows(report)]
    lines += holders[:_MOST_HOLDERS]
    if len(holders) > _MOST_HOLDERS:
        lines.append(f"    … {len(holders) - _MOST_HOLDERS:,} more")
    return "\n".join(lines)


def _freed(counters: Mapping[str, int], how: str) -> str:
    nodes, nbytes = counters[f"nodes_freed_by_{how}"], counters[f"bytes_freed_by_{how}"]
    released = counters[f"bytes_released_by_{how}"]
    told = f"{bytes_text(nbytes)} that {counted(nodes, 'node')} saved"
    return f"{told}: {freed_text(nbytes, released)}" if nbytes else told


def _holder(group: Sequence[Held]) -> tuple[str, str, str]:
    first, last = group[0], group[-1]
    path = first.path if len(group) == 1 else f"{first.path} … {last.path} ({len(group):,} tensors)"
    nodes, saved = sum(one.nodes for one in group), sum(one.saved_bytes for one in group)
    own = bytes_text(sum(one.node_bytes for one in group))
    much = f"{counted(nodes, 'node')}, {bytes_text(saved)} saved, {own} of graph metadata"
    if not nodes:
        much = "only nodes that are listed above"
    return path, much, str(first.made_at or "")


def step_rows(chosen: Backward) -> tuple[str, list[tuple[str, str, str]], str]:
    """A title, where the time of a step goes (what, its share, milliseconds), and which steps that is the mean of.

    Where a line called backward once there is no step: all the time until then is told, the script's imports included.
    """
    mean, how = typical(chosen)
    of = "the step" if chosen.steps else "from the script's start until the end of this backward"
    took = _share(mean.backward, mean.wall) if mean.backward else ("", "not timed, because it was shown node by node")
    rows = [
        ("building the graph", *_share(mean.recording, mean.wall)),
        ("forward kernels", *_share(mean.forward_kernels, mean.wall)),
        ("backward", *took),
        (f"elsewhere: {'' if chosen.steps else 'imports, '}Python, optimizer", *_share(mean.elsewhere, mean.wall)),
    ]
    title = f"{of}: {mean.wall / 1e6:.3f} ms, {counted(mean.operations, 'operation')}"
    return title, rows, f"{how}; the time of the report itself is not included"


def _step(chosen: Backward) -> str:
    title, rows, how = step_rows(chosen)
    table = _table([(what, f"{share:>7}  {time:>12}") for what, share, time in rows])
    lines = [_rule(title), *table, f"  ({how})"]
    if hint := replays.hint(chosen, typical(chosen)[0]):
        lines.append(f"  {hint}")
    return "\n".join(lines)


def typical(chosen: Backward) -> tuple[Step, str]:
    """The mean of the middle half of the steps: an evaluation between two of them does not count as a step."""
    if not chosen.steps:
        assert chosen.since_start is not None
        return chosen.since_start, f"{chosen.place.short} called backward once, so there is no step to time"
    ordered = sorted(chosen.steps, key=lambda step: step.wall)
    quarter = len(ordered) // 4
    middle = ordered[quarter : len(ordered) - quarter]
    mean = Step(
        *(
            sum(getattr(step, name) for step in middle) // len(middle)
            for name in ("wall", "recording", "forward_kernels", "backward", "operations")
        )
    )
    half = f"mean of the middle half of {counted(len(ordered), 'step')}" if quarter else "mean of all steps"
    step = f"{half}; a step lasts from the end of one backward at {chosen.place.short} to the end of the next"
    return mean, f"{step}; the graph is that of the last step"


def _share(part: int, whole: int) -> tuple[str, str]:
    return f"{100 * part / max(1, whole):.1f} %", f"{part / 1e6:.3f} ms"


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(22, *(len(name) + 2 for name, _ in rows))
    return [f"  {name:<{width}}{value}" for name, value in rows]
