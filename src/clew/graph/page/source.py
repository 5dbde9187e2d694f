"""Lines of source as HTML: with what is around them, and as a change."""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterable, Mapping

from ..._cells import file_text

_AROUND = 4  # lines before and after
_FAR = 8  # lines: what is nearer stands in one excerpt


def excerpts(parties: Iterable[tuple[str, str, int, str]]) -> str:
    """Lines with what is around them, side by side; those of one function that are near each other in one.

    Args:
        parties: what is said beside a line, its file, its number and the function.
    """
    found: list[tuple[str, str, dict[int, str]]] = []
    for what, file, line, function in parties:
        for other_file, other_function, marked in found:
            is_near = any(abs(line - other) <= _FAR for other in marked)
            if (file, function) == (other_file, other_function) and is_near:
                marked[line] = f"{marked[line]}, {what}" if line in marked else what
                break
        else:
            found.append((file, function, {line: what}))
    text = "".join(_excerpt(file, marked, function) for file, function, marked in found)
    return f'<div class="sources">{text}</div>' if text else ""


def _excerpt(file: str, marked: Mapping[int, str], function: str) -> str:
    """The lines around those that are marked, with what the marks say; empty if the source cannot be had.

    Args:
        file: its path.
        marked: what is said beside a line, by its number.
        function: whose lines they are, for the heading.
    """
    lines = linecache.getlines(file)
    if not lines:
        return ""
    first, last = max(1, min(marked) - _AROUND), min(len(lines), max(marked) + _AROUND)
    rows = []
    for number in range(first, last + 1):
        text = html.escape(lines[number - 1].rstrip("\n")) or " "
        said = f'<b class="said">{html.escape(marked[number])}</b>' if number in marked else ""
        kind = ' class="marked"' if number in marked else ""
        rows.append(f"<tr{kind}><td>{number}</td><td><code>{text}</code>{said}</td></tr>")
    inside = f" in {html.escape(function)}" if function else ""
    heading = f"<figcaption>{html.escape(file_text(file))}{inside}</figcaption>"
    return f'<figure class="source">{heading}<table><tbody>{"".join(rows)}</tbody></table></figure>'


def change(diff: str) -> str:
    """A unified diff, in colours."""
    kinds = {"+": "added", "-": "removed", "@": "hint"}
    lines = [
        f'<span class="{kinds.get(line[:1], "same")}">{html.escape(line)}</span>' for line in diff.splitlines() if line
    ]
    return f'<pre class="diff">{"".join(lines)}</pre>'
