"""The frame of a page: sections as tabs, light and dark, with all its style and code inside."""

from __future__ import annotations

import functools
import html
import itertools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from .charts import bars
from .graph import graphs_section

if TYPE_CHECKING:
    from ..pictures.picture import Picture

SCRIPTS = (
    "units.js",
    "data.js",
    "fold.js",
    "boxes.js",
    "layout.js",
    "view.js",
    "panel.js",
    "graph.js",
    "memory-data.js",
    "memory.js",
    "page.js",
)

# Nothing may be loaded: also a report on a hostile program stays where it is.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@functools.cache
def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


class Page:
    """A document that is put together section by section.

    Example:
        >>> page = Page("train.py", "one step")
        >>> page.add("Summary", "<p>all is well</p>")
        >>> page.html.startswith("<!doctype html>")
        True
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self._sections: list[tuple[str, str]] = []
        self._numbers = itertools.count(1)

    def add(self, title: str, content: str) -> None:
        """Append a section. ``content`` is HTML; escape in it what is not yours with ``html.escape``."""
        self._sections.append((title, content))

    def add_graph(self, picture: Picture, title: str = "Graph") -> None:
        """Append the picture of a graph, in which the reader can fold, search and step through time."""
        self.add_graphs({"": picture}, title)

    def add_graphs(self, pictures: Mapping[str, Picture], title: str = "Graph") -> None:
        """Append one section for several graphs; a switch chooses one by its name, the first is shown at first."""
        self.add(title, graphs_section(pictures, self._numbers))

    def add_bars(
        self,
        title: str,
        x: Sequence[object],
        series: Mapping[str, Sequence[float]],
        *,
        unit: str = "bytes",
        label: str = "",
    ) -> None:
        """Append a chart of stacked bars; see :func:`clew.graph.page.bars`."""
        self.add(title, bars(x, series, unit=unit, label=label or title))

    @property
    def html(self) -> str:
        """The whole document."""
        tabs, sections = [], []
        many = len(self._sections) > 1
        for number, (title, content) in enumerate(self._sections):
            name = html.escape(title)
            if many:
                tabs.append(f'<button role="tab" id="tab-{number}" aria-controls="section-{number}">{name}</button>')
            role = f'role="tabpanel" aria-labelledby="tab-{number}" tabindex="0"' if many else f'aria-label="{name}"'
            sections.append(f'<section id="section-{number}" {role}>{content}</section>')
        bar = f'<div role="tablist" aria-label="Sections">{"".join(tabs)}</div>' if many else ""
        heading = html.escape(self.title)
        subtitle = f"<p>{html.escape(self.subtitle)}</p>" if self.subtitle else ""
        licence = _asset("vendor/dagre.LICENSE.txt")
        code = "\n".join(map(_asset, SCRIPTS))
        return "\n".join(
            [
                "<!doctype html>",
                '<html lang="en"><head><meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<link rel="icon" href="data:,">',
                f"<title>{heading}</title>",
                f"<style>{_asset('style.css')}</style></head><body>",
                f'<header class="top"><h1>{heading}</h1>{subtitle}{bar}</header>',
                f"<main>{''.join(sections)}</main>",
                f"<script>/* @dagrejs/dagre 3.1.3\n{licence}*/\n{_asset('vendor/dagre.min.js')}</script>",
                f'<script>"use strict";(() => {{\n{code}\n}})();</script>',
                "</body></html>\n",
            ]
        )

    def save(self, path: str | Path) -> Path:
        """Write the document and return where it is."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target
