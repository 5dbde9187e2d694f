"""``clew xray --html``: the whole report as one page that needs nothing else to be shown."""

from __future__ import annotations

import html
import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..graph.page import Page, curve, excerpts, table
from . import replays
from . import report as text
from .error_page import error_section, with_code

if TYPE_CHECKING:
    from ..graph.notes.finding import Finding
    from ..graph.pictures.picture import Picture
    from .xray import Report

_MOST_GRAPHS = 12


def page(report: Report) -> Page:
    """The error in which the script ended, graphs, memory, growth and the totals."""
    made = Page(f"clew xray {os.path.basename(report.script)}", _subtitle(report))
    if report.error is not None:
        made.add("Error", error_section(report.error))
    if notes := text.notes_of(report):
        made.add(f"Notes ({len(notes)})", _notes(notes))
    if report.precision is not None:
        made.add("Precision", report.precision._repr_html_())
    if pictures := _pictures(report):
        made.add_graphs(pictures)
    if report.timeline is not None:
        is_step = report.chosen is not None and report.chosen.steps
        since = (
            "From the end of one backward to the end of the next: one step"
            if is_step
            else "Until the end of this backward"
        )
        made.add("Memory", report.timeline.section(f"{since}."))
    made.add("Summary", _summary(report))
    made.add("Growth", _growth(report))
    return made


def _pictures(report: Report) -> dict[str, Picture]:
    """The graphs by what the switch calls them: the last of the line that is reported on, then the others."""
    found: dict[str, Picture] = {}
    if report.failed is not None:
        found["the one that failed"] = report.failed
    for backward in sorted(report.passes, key=lambda one: one is not report.chosen):
        for number, picture in sorted(backward.pictures.items(), reverse=True):
            found[f"{number:,} of {backward.count:,} at {backward.place.short}"] = picture
    return dict(itertools.islice(found.items(), _MOST_GRAPHS))


def _subtitle(report: Report) -> str:
    if report.error is not None:
        return f"ended in {type(report.error).__name__}"
    if report.chosen is None:
        return ""
    passes = "backward pass" if report.chosen.count == 1 else "backward passes"
    elsewhere = sum(one.count for one in report.passes if one is not report.chosen)
    others = f", {elsewhere:,} at other lines" if elsewhere else ""
    return f"{report.chosen.count:,} {passes} at {report.chosen.place.short}{others}"


def _notes(notes: Sequence[Finding]) -> str:
    """What raises no error but is usually a bug, each with its line."""
    parts = ["<p>These raise no error, but are usually bugs:</p>"]
    for note in notes:
        parts.append(f"<h3>{with_code(note.text)}</h3><p>To do: {with_code(note.advice)}</p>")
        if note.place is not None:
            places = [(note.kind, note.place), *note.others]
            lines = excerpts((what, place.file, place.line, place.function) for what, place in places)
            parts.append(lines or f"<p>{html.escape(str(note.place))}</p>")
    return "".join(parts)


def _summary(report: Report) -> str:
    parts = ["<h2>Totals of the run</h2>", table(("what", "how much"), text.totals_rows(report))]
    if holders := text.holder_rows(report):
        parts += [
            "<h2>Variables that keep a graph alive</h2>",
            table(("variable", "keeps", "created at"), holders[:50]),
        ]
    if report.chosen is not None and not report.tests:
        title, rows_of_step, how = text.step_rows(report.chosen)
        parts += [
            f"<h2>{html.escape(title[0].upper() + title[1:])}</h2>",
            table(("where the time goes", "share", "time"), rows_of_step),
        ]
        parts.append(f"<p>{html.escape(how)}</p>")
        if hint := replays.hint(report.chosen, text.typical(report.chosen)[0]):
            parts.append(f"<p>{html.escape(hint[0].upper() + hint[1:])}</p>")
    if report.chosen is not None and report.chosen.explanation is not None:
        told = html.escape(str(report.chosen.explanation))
        parts.append(f"<details><summary>The graph as text</summary><pre>{told}</pre></details>")
    if report.replays:
        parts.append("<h2>Replays</h2>")
    for one in report.replays:
        told = html.escape(replays.title_of(one))
        parts.append(f"<details><summary>{told}</summary><p>{html.escape(replays.steps_of(one))}</p></details>")
    return "".join(parts)


def _growth(report: Report) -> str:
    parts = []
    if report.curve.count > 1:
        ends = ("the first backward", f"backward {report.curve.count:,}")
        parts.append(curve("Nodes alive after each backward", report.curve.nodes, ends))
        parts.append(
            curve(
                "Bytes of tensors alive after each backward, graph metadata not included",
                report.curve.nbytes,
                ends,
                unit="bytes",
            )
        )
    if not report.growth:
        return "".join([*parts, "<p>No line kept the graphs of more and more iterations.</p>"])
    rows = [
        (str(found.made_at), found.path or "no variable", found.iterations, found.nodes, found.nbytes)
        for found in report.growth
    ]
    parts.append(table(("created at", "held by", "iterations", "nodes", "bytes"), rows))
    return "".join([*parts, *(f"<p>{with_code(str(found))}</p>" for found in report.growth)])
