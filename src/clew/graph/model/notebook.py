"""How the answers of ``clew.graph`` and ``clew.memory`` show themselves in a notebook: HTML, with nothing to load."""

from __future__ import annotations

import dataclasses
import re
from html import escape
from typing import Any

_MOST_LINES = 60  # that are open at first


class Shown:
    """What has a ``__str__`` of its own is shown as that text, other records as a table of their fields.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> place = clew.explain(x.exp()).nodes[0].made_at
        >>> place._repr_html_().startswith("<pre")
        True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return text_html(str(self)) if _says_itself(type(self)) else fields_html(self)


def _says_itself(kind: type) -> bool:
    return any("__str__" in vars(one) for one in kind.__mro__ if one is not object and not issubclass(one, tuple))


def text_html(text: str) -> str:
    """A text as it stands; a long one is folded under its first line."""
    lines = text.splitlines()
    if len(lines) <= _MOST_LINES:
        return pre_html(text)
    return f"<details><summary>{escape(lines[0])}</summary>{pre_html(chr(10).join(lines[1:]))}</details>"


def pre_html(text: str) -> str:
    """Lines in letters of one width, also where the style of a page sets another font for everything."""
    style = "font-family: monospace; white-space: pre; line-height: 1.25; overflow-x: auto"
    return f'<pre style="{style}">{escape(text)}</pre>'


def fields_html(record: Any) -> str:
    """A table of the fields of a dataclass or named tuple."""
    names = (
        [field.name for field in dataclasses.fields(record)]
        if dataclasses.is_dataclass(record)
        else list(getattr(record, "_fields", ()))
    )
    if not names:
        return pre_html(repr(record))
    left = 'style="text-align: left"'
    rows = "".join(f"<tr><th {left}>{name}</th><td {left}>{_cell(getattr(record, name))}</td></tr>" for name in names)
    return f"<table><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return escape(text if len(text) <= 200 else text[:199] + "…")


def page_html(document: str, height: int = 560, svg: str = "") -> str:
    """A whole document inside of the notebook, by itself: its style and code do not touch the others.

    Where notebooks are shown without frames, as on GitHub or before one is trusted, the picture `svg` is seen instead,
    which lies behind the frame.
    """
    image, place = "", ""
    if svg:
        import base64

        data = base64.b64encode(svg.encode()).decode()
        image = f'<img alt="{_label(svg)}" src="data:image/svg+xml;base64,{data}" style="max-width: 100%">'
        place = "position: absolute; top: 0; left: 0; background: #ffffff; "
    frame = (
        f'<iframe srcdoc="{escape(document, quote=True)}" sandbox="allow-scripts" loading="lazy" '
        f'style="{place}width: 100%; height: {height}px; border: 1px solid #d1d9e0; border-radius: 6px"></iframe>'
    )
    if not svg:
        return frame
    return f'<div style="position: relative; height: {height + 2}px; overflow: hidden">{image}{frame}</div>'


def _label(svg: str) -> str:
    found = re.search(r'aria-label="([^"]*)"', svg)
    return found.group(1) if found else "a graph"
