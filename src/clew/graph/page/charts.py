"""Tables and charts as HTML, drawn here; the page's code adds what is read off under the pointer."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..model.wording import bytes_text

# Okabe and Ito's colours, which colour-blind readers can tell apart, and grey for what is left.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#b8a900", "#7a6ff0", "#a05a2c")
REST = "#8c959f"
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 1000, 300, 84, 12, 34


def as_script(data: object) -> str:
    """JSON that may stand in a script element, whatever strings are in it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json">{text}</script>'


def unbroken(text: str) -> str:
    """The text with numbers and their units on one line.

    Example:
        >>> unbroken("5.7 MiB dropped")
        '5.7\\xa0MiB dropped'
    """
    return re.sub(r"(?<=\d) (?=(?:(?:[KMGT]i)?B|[nµm]?s|%)(?!\w))", "\xa0", text)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table. Numbers are set to the right, with commas; a column whose name ends in ``bytes`` is in units.

    Example:
        >>> table(["line", "bytes"], [("a<b", 2048)])[-71:]
        '<tr><td>a&lt;b</td><td class="number">2.0\\xa0KiB</td></tr></tbody></table>'
    """
    rows = list(rows)
    kinds = [
        ' class="number"' if rows and all(map(_is_number, column)) else ""
        for column in zip(*(rows or [header]), strict=True)
    ]
    head = "".join(f'<th scope="col"{kind}>{html.escape(name)}</th>' for name, kind in zip(header, kinds, strict=True))
    body = []
    for row in rows:
        cells = []
        for name, value, kind in zip(header, row, kinds, strict=True):
            text = str(value)
            if isinstance(value, (int, float)):
                text = bytes_text(int(value)) if name.endswith("bytes") else f"{value:,}"
            cells.append(f"<td{kind}>{html.escape(unbroken(text))}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _is_number(value: object) -> bool:
    """A number, or a text that is one with its unit."""
    return isinstance(value, (int, float)) or re.fullmatch(r"[\d.,]+ (%|[nµm]?s)", str(value)) is not None


def bars(x: Sequence[object], series: Mapping[str, Sequence[float]], *, unit: str = "bytes", label: str = "") -> str:
    """A chart of bars that are stacked: what each named series adds at each ``x``.

    Args:
        x: what each bar is, in order: a time, an iteration, a name.
        series: for each name as many numbers, not negative, as there are ``x``; the first is at the bottom.
        unit: ``bytes``, or what is written behind a number.
        label: what the chart shows, for those who cannot see it.

    Raises:
        ValueError: a series has another length than ``x``.
    """
    for name, values in series.items():
        if len(values) != len(x):
            raise ValueError(f"bars: expected {len(x)} values in {name!r}, one for each x, got {len(values)}")
    count = len(x)
    totals = [float(sum(values[place] for values in series.values())) for place in range(count)]
    highest = max(totals, default=0.0) or 1.0
    plot_width, plot_height = WIDTH - LEFT - 16, HEIGHT - TOP - BOTTOM
    colours = {name: COLOURS[at] if at < len(COLOURS) else REST for at, name in enumerate(series)}

    def height_of(value: float) -> float:
        return TOP + plot_height * (1 - value / highest)

    shapes = []
    base = [0.0] * count
    for name, values in series.items():
        upper = [below + value for below, value in zip(base, values, strict=True)]
        shapes.append(f'<path fill="{colours[name]}" d="{_steps(base, upper, plot_width, height_of)}"/>')
        base = upper
    tick = _bytes_in_one_unit(highest)
    for part in range(5):
        value = highest * part / 4
        y = height_of(value)
        text = tick(value) if unit == "bytes" else f"{value:.4g} {html.escape(unit)}"
        shapes.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - 16}" y1="{y:.1f}" y2="{y:.1f}"/>')
        shapes.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for place in sorted({round(part * (count - 1) / 6) for part in range(7)}) if count else []:
        middle = LEFT + plot_width * (place + 0.5) / count
        shapes.append(
            f'<text x="{middle:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{html.escape(str(x[place]))}</text>'
        )
    key = "".join(
        f'<li><span style="background:{colour}"></span>{html.escape(name)}</li>' for name, colour in colours.items()
    )
    data = {
        "xs": [str(one) for one in x],
        "series": [{"name": name, "values": [float(value) for value in values]} for name, values in series.items()],
        "totals": totals,
        "unit": unit,
    }
    return (
        f'<figure class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(label)}" '
        f'data-left="{LEFT}" data-width="{plot_width}">{"".join(shapes)}'
        f'<line class="rule" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/></svg>'
        f'<ul class="key">{key}</ul><pre class="note" aria-live="polite"></pre>{as_script(data)}</figure>'
    )


def curve(title: str, values: Sequence[float], ends: tuple[str, str], *, unit: str = "") -> str:
    """A line over equal steps, with its first, last and largest value in words; ``ends`` name the first and the last.

    Example:
        >>> "<polyline" in curve("Nodes", [1, 2, 4], ("first", "last"))
        True
    """
    highest = max(values, default=0) or 1
    points = " ".join(
        f"{WIDTH * at / max(1, len(values) - 1):.1f},{100 * (1 - value / highest):.2f}"
        for at, value in enumerate(values)
    )

    def text(value: float) -> str:
        return unbroken(bytes_text(round(value))) if unit == "bytes" else f"{value:,}"

    told = f"{html.escape(title)}: {text(values[0])} → {text(values[-1])}, at most {text(max(values))}"
    # Stretched to the page's width: so no text may be inside.
    return (
        f'<figure class="curve"><figcaption>{told}</figcaption><svg viewBox="0 -2 {WIDTH} 104" '
        f'preserveAspectRatio="none" role="img" aria-label="{told}"><polyline points="{points}"/></svg>'
        f"<p><span>{html.escape(ends[0])}</span><span>{html.escape(ends[1])}</span></p></figure>"
    )


def _bytes_in_one_unit(highest: float) -> Callable[[float], str]:
    """How the ticks of an axis are written: all in the unit of the highest."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    place = min(len(units) - 1, max(0, math.frexp(highest)[1] - 1) // 10)
    return lambda value: f"{value / 1024**place:.{1 if place else 0}f} {units[place]}"


def _steps(lower: Sequence[float], upper: Sequence[float], width: float, height_of: Callable[[float], float]) -> str:
    """The outline between two flights of steps."""
    count = len(lower)
    there, back = [], []
    for place in range(count):
        left, right = LEFT + width * place / count, LEFT + width * (place + 1) / count
        there.append(f"{left:.2f},{height_of(upper[place]):.2f} {right:.2f},{height_of(upper[place]):.2f}")
        back.append(f"{right:.2f},{height_of(lower[place]):.2f} {left:.2f},{height_of(lower[place]):.2f}")
    return f"M{' '.join(there)} {' '.join(reversed(back))}Z" if count else ""
