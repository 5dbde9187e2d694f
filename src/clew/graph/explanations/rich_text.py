"""An :class:`Explanation` in colour, where ``rich`` is installed."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from ..model.wording import as_ascii, bytes_text, counted, names_text
from .text import header_lines, render, tree_lines

if TYPE_CHECKING:
    from .explanation import Explanation

STYLES = {
    r"● #\d+ ([\w.]+ · \w+: )?\w+": "bold",
    r"○ #\d+ leaf [\w.\[\]']*": "green",
    r"[^\s/]+\.py:\d+( in [\w<>.]+)?": "cyan",
    r"\bfreed\b": "dim",
    r"\bheld\b": "yellow",
    r"\bpacked\b": "magenta",
    r"\bmodified in place since\b": "bold red",
}


def show(told: Explanation) -> None:
    """Print it on stdout, in what is there: colour, plain text, or ASCII."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
        except ImportError:
            pass
        else:
            Console(soft_wrap=True).print(renderable(told))
            return
    text = render(told)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        text = as_ascii(text)
    print(text)


def renderable(told: Explanation) -> Any:
    """For ``rich.print``: the tree as painted text, the totals as a table."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text("\n".join(header_lines(told)), style="bold")]
    if told.nodes:
        tree = Text("\n".join(["", *tree_lines(told), ""]))
        for pattern, style in STYLES.items():
            tree.highlight_regex(re.compile(pattern), style)
        parts += [tree, _table(told)]
    return Group(*parts)


def _table(told: Explanation) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    table.add_column("what was saved")
    table.add_column("tensors", justify="right")
    table.add_column("bytes", justify="right")
    table.add_column("by whom")
    for row in totals_rows(told):
        table.add_row(*row)
    return table


def totals_rows(told: Explanation) -> list[tuple[str, str, str, str]]:
    """The totals as a table: what, how many, how much, by whom; kinds that do not occur are left out."""
    totals = told.totals
    count = f"{counted(totals.nodes, 'node')}, {counted(totals.leaves, 'leaf')}"
    rows = [("the graph itself", count, bytes_text(totals.node_bytes), "")]
    if totals.held:
        goes = f"goes with {names_text(totals.goes_with)}" if totals.goes_with else "the graph"
        rows.append(("held", f"{totals.held:,}", bytes_text(totals.held_bytes + totals.foreign_bytes), ""))
        rows.append(("  only by the graph", "", bytes_text(totals.graph_only_bytes), goes))
        if totals.staying_bytes:
            rows.append(("    also by other graphs", "", bytes_text(totals.staying_bytes), ""))
        names = names_text(totals.shared_with) if totals.shared_with else "tensors without a name"
        rows.append(
            ("  also by your variables", "", bytes_text(totals.shared_bytes), names if totals.shared_bytes else "")
        )
    if totals.foreign_bytes:
        rows.append(("  of other libraries", "", bytes_text(totals.foreign_bytes), ""))
    if totals.packed:
        rows.append(("packed (stored by saved_tensors_hooks)", f"{totals.packed:,}", "", ""))
    if totals.freed:
        by = "; ".join(map(str, totals.releases))
        rows.append(("freed", f"{totals.freed:,}", bytes_text(totals.freed_bytes), by))
        if totals.freed_bytes > totals.released_bytes:
            names = names_text(totals.still_held_by) if totals.still_held_by else "elsewhere"
            rows.append(("  to the allocator", "", bytes_text(totals.released_bytes), ""))
            rows.append(("  still referenced", "", bytes_text(totals.freed_bytes - totals.released_bytes), names))
    return rows
