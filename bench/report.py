"""The figures as text: tables for the terminal, and the same for a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bench.bars import Verdict, bar_of, best, ratio
from bench.rivals import RIVALS

Row = Mapping[str, Any]
Cells = list[str]


def time_text(nanoseconds: float | None) -> str:
    if nanoseconds is None:
        return ""
    for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.3g} {name}"
    return f"{nanoseconds:.3g} ns"


def bytes_text(count: float | None) -> str:
    if count is None:
        return ""
    for size, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:.0f} B"


def rivals_of(rows: Iterable[Row]) -> list[str]:
    """Those who have a figure or an error in these rows, in the usual order."""
    present = {name for row in rows for name in row["results"]}
    return [name for name in RIVALS if name in present]


def _cell(row: Row, rival: str, text: Callable[[float | None], str], field: str) -> str:
    result = row["results"].get(rival)
    if result is None:
        return ""
    return text(result[field]) if field in result else "error"


def table(rows: Sequence[Row], field: str = "best") -> list[Cells]:
    """A line for each workload: its figures, PyTorch's over clew's, and what was asked. The first line is the head."""
    rivals = rivals_of(rows)
    text = bytes_text if field == "bytes" else time_text
    lines = [["", "threads", *(RIVALS[name].label for name in rivals), "PyTorch / clew", "asked"]]
    for row in rows:
        cells = [_cell(row, name, text, field) for name in rivals]
        lines.append([row["workload"], str(row["threads"]), *cells, *_against_torch(row, field)])
    return lines


def _against_torch(row: Row, field: str) -> Cells:
    if field == "bytes":
        ours, theirs = (row["results"].get(name, {}).get(field) for name in ("clew", "torch"))
        found = theirs / ours if ours and theirs else None
        asked = 1.0
    else:
        found, bar = ratio(row, "torch"), bar_of(row, "torch")
        asked = bar.ratio if bar is not None else 0.0
    if found is None:
        return ["", f"{asked:g}x" if asked and "torch" in row["results"] else ""]
    return [f"{found:.2f}x", f"{asked:g}x: {'yes' if found >= asked else 'NO'}" if asked else ""]


def sweep_table(rows: Sequence[Row], threads: int) -> list[Cells]:
    """The faster of PyTorch's and NumPy's times over clew's: a line for each operation, a column for each size."""
    chosen = [row for row in rows if row["group"] == "sweep" and row["threads"] == threads]
    sizes = sorted({row["facts"]["size"] for row in chosen})
    if not any("clew" in row["results"] for row in chosen):
        return []
    keys = list(dict.fromkeys((row["facts"]["operation"], row["facts"]["direction"]) for row in chosen))
    found = {(row["facts"]["operation"], row["facts"]["direction"], row["facts"]["size"]): row for row in chosen}
    lines = [["", "", *(f"10^{len(str(size)) - 1}" for size in sizes)]]
    for operation, direction in keys:
        cells = [_margin(found.get((operation, direction, size))) for size in sizes]
        lines.append([operation, direction, *cells])
    return lines


def _margin(row: Row | None) -> str:
    if row is None:
        return ""
    theirs = [t for name in ("torch", "numpy") if (t := best(row, name)) is not None]
    ours = best(row, "clew")
    if ours is None or not theirs:
        return "error" if any("error" in result for result in row["results"].values()) else ""
    margin = min(theirs) / ours
    return f"{margin:.2f}" + (" !" if margin < 1 / 1.05 else "")


def verdict_table(verdicts: Iterable[Verdict]) -> list[Cells]:
    lines = [["", "threads", "asked", "found", ""]]
    return lines + [[v.name, str(v.threads), v.asked, v.found, "met" if v.is_met else "MISSED"] for v in verdicts]


def counts(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(v.is_met for v in verdicts)} of {len(verdicts)} met"


def errors(rows: Iterable[Row]) -> list[str]:
    """What each rival could not do."""
    return [
        f"{row['workload']} ({row['threads']}): {name}: {result['error']}"
        for row in rows
        for name, result in row["results"].items()
        if "error" in result
    ]


def plain(lines: Sequence[Cells]) -> str:
    """Columns aligned with spaces: the first to the left, the others to the right."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown(lines: Sequence[Cells]) -> str:
    head, *rest = lines
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rest])
