"""clew beside another clew: by how much each workload's time differs, and what counts as slower."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench import report

Row = Mapping[str, Any]
Results = Mapping[str, Mapping[str, Any]]

SLOWER = 1.03  # from here on a workload is slower
SLOWER_IN_SWEEP = 1.08
NOISE_NS = 2.0  # of overheads: what takes so few nanoseconds more is not
OVERHEADS = ("overhead", "graph size")


def ratio(results: Results) -> float | None:
    """clew's best time over the other's."""
    ours, theirs = (results.get(name, {}).get("best") for name in ("clew", "against"))
    return ours / theirs if ours and theirs else None


def is_slower(group: str, results: Results) -> bool:
    """Whether clew is slower than the other in this run."""
    found = ratio(results)
    if found is None:
        return False
    if group in OVERHEADS and results["clew"]["best"] - results["against"]["best"] <= NOISE_NS:
        return False
    return found > (SLOWER_IN_SWEEP if group == "sweep" else SLOWER)


def is_slower_twice(row: Row) -> bool:
    """Whether the row is slower in the first run, and in the second, which what was slower in the first has."""
    return is_slower(row["group"], row["results"]) and is_slower(row["group"], row.get("second run", {}))


def tables(rows: Sequence[Row]) -> Iterator[tuple[str, list[report.Cells]]]:
    """For each number of threads, every workload; what is slower comes last, once more."""
    for threads in sorted({row["threads"] for row in rows}):
        lines = _table([row for row in rows if row["threads"] == threads])
        yield f"Beside the other clew, {report.threads_text(threads)} (over 1: slower than it)", lines
    slower = [row for row in rows if is_slower_twice(row)]
    if slower:
        yield "Slower in two runs", _table(slower, show_threads=True)


def conclusion(rows: Sequence[Row]) -> str:
    """How many rows are slower, in one line."""
    compared = [row for row in rows if ratio(row["results"]) is not None]
    once = sum(is_slower(row["group"], row["results"]) for row in compared)
    twice = sum(is_slower_twice(row) for row in compared)
    limits = f"more than {SLOWER - 1:.0%}, of the sweep {SLOWER_IN_SWEEP - 1:.0%}, of overheads also {NOISE_NS:g} ns"
    return f"Of {len(compared)} rows compared {twice} are slower in two runs, {once - twice} in one only ({limits})"


def _table(rows: Sequence[Row], show_threads: bool = False) -> list[report.Cells]:
    lines = [["", *(["threads"] if show_threads else []), "clew", "other", "ratio", "second run", ""]]
    for row in rows:
        found, again = ratio(row["results"]), ratio(row.get("second run", {}))
        if found is None:
            continue
        times = [report.time_text(row["results"][name]["best"]) for name in ("clew", "against")]
        ratios = [f"{found:.3f}", f"{again:.3f}" if again is not None else ""]
        verdict = "SLOWER" if is_slower_twice(row) else ""
        lines.append([row["workload"], *([str(row["threads"])] if show_threads else []), *times, *ratios, verdict])
    return lines
