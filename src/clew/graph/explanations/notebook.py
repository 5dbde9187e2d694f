"""An :class:`Explanation` in a notebook: text that unfolds, and the totals as a table. No script, nothing to load."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ..model.notebook import pre_html
from .rich_text import totals_rows
from .text import header_lines, tree_lines

if TYPE_CHECKING:
    from .explanation import Explanation

_MOST_LINES_OPEN = 60


def as_html(told: Explanation) -> str:
    """A piece of HTML."""
    head, *more = (escape(line) for line in header_lines(told))
    parts = [f"<p><b>{head}</b>{''.join(f'<br>{line}' for line in more)}</p>"]
    if told.nodes:
        lines = tree_lines(told)
        state = " open" if len(lines) <= _MOST_LINES_OPEN else ""
        parts.append(
            f"<details{state}><summary>{len(told.nodes):,} nodes</summary>{pre_html(chr(10).join(lines))}</details>"
        )
        parts.append(_table(totals_rows(told)))
    return f"<div>{''.join(parts)}</div>"


def _table(rows: list[tuple[str, str, str, str]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("what was saved", "tensors", "bytes", "by whom"))
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    indent = (len(text) - len(text.lstrip())) // 2
    style = f' style="padding-left: {1.5 * indent}em"' if indent else ""
    return f"<td{style}>{escape(text.strip())}</td>"
