"""The report's section on the error that ended the script: what to write instead, the lines involved, all fields."""

from __future__ import annotations

import html
import traceback
from types import FrameType

from ..graph.explanations.explain import explain
from ..graph.explanations.failures import notes_of, raised_at, reason_of
from ..graph.explanations.repairs import parties_of, repair_of
from ..graph.page import change, excerpts, table, unbroken


def error_section(error: BaseException) -> str:
    """HTML."""
    reason = reason_of(error)
    name = f"{type(reason).__module__}.{type(reason).__qualname__}"
    title = html.escape(name).replace(".", ".<wbr>")  # where a phone may break it
    parts = [f"<h2>{title}</h2>", f'<pre class="error-text">{html.escape(str(reason))}</pre>']
    repair = repair_of(reason)
    if repair is not None:
        parts.append(f"<h3>The smallest fix: {with_code(repair.title)}</h3>{change(repair.diff)}")
    raised = raised_at(reason)
    rest = [("raised here", raised.file, raised.line, raised.function)] if raised is not None else []
    if sources := excerpts([*parties_of(reason), *rest]):
        parts.append(f"<h3>Lines involved</h3>{sources}")
    rows = [(note.label, note.text or str(note.place or "")) for note in notes_of(reason, _frames(error))]
    parts.append(f"<h3>Fields of the error</h3>{table(('field', 'value'), rows)}")
    node = getattr(reason, "node", None)
    if node is not None:
        below = html.escape(str(explain(node, limit=30)))
        parts.append(f"<details><summary>The graph below the node, as text</summary><pre>{below}</pre></details>")
    return "".join(parts)


def _frames(error: BaseException) -> list[FrameType]:
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)][::-1]


def with_code(text: str) -> str:
    """Text whose backticks mark code."""
    pieces = html.escape(unbroken(text)).split("`")
    return "".join(f"<code>{piece}</code>" if at % 2 else piece for at, piece in enumerate(pieces))
