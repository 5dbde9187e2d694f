"""The figures as text: tables for the terminal, and the same for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.bars import SLOWER_ALLOWED, Verdict, bar_of, best, peak_of, ratio
from bench.rivals import RIVALS

Row = Mapping[str, Any]
Cells = list[str]


def time_text(nanoseconds: float) -> str:
    for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.3g} {name}"
    return f"{nanoseconds:.3g} ns"


def bytes_text(count: float) -> str:
    for size, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:.0f} B"


def threads_text(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def tables(rows: Sequence[Row], memory: Sequence[Row]) -> Iterator[tuple[str, list[Cells]]]:
    """All that there is to show, with titles; what was not measured is left out."""
    for threads in sorted({row["threads"] for row in rows}):
        here = [row for row in rows if row["threads"] == threads]
        said = threads_text(threads)
        made = (
            (f"Workloads, {said}", table([row for row in here if row["group"] in ("overhead", "training")])),
            (f"Compiled functions, {said}", compiled_table([row for row in here if "clew.compile" in row["results"]])),
            (f"Kept programs, {said}", table([row for row in here if row["group"] == "kept"])),
            (
                f"Half of the memory for graphs, beside the same workload with all of it, {said}",
                table([row for row in here if row["group"] == "budget"]),
            ),
            (f"Size of the graph, {said}", table([row for row in here if row["group"] == "graph size"])),
            (f"Matrix products, {said}: GFLOP/s", rates([row for row in here if row["group"] == "matmul"], "flops")),
            (
                f"Copy, {said}: GB/s read and written",
                rates([row for row in here if row["group"] == "bandwidth"], "bytes"),
            ),
            (
                f"Operations, {said}: the faster of PyTorch and NumPy over clew (!: below {1 / SLOWER_ALLOWED:.2f})",
                sweep_table(here),
            ),
        )
        yield from ((title, lines) for title, lines in made if len(lines) > 1)
    first = first_calls(rows)
    if len(first) > 1:
        yield "Seconds until the first results are there, compilation included", first
    tenth = tenth_calls(rows)
    if len(tenth) > 1:
        yield "Milliseconds until the tenth call is done, recording and compilation included", tenth
    if memory:
        yield "Peak of resident memory over the import's", table(memory, "bytes")


def rivals_of(rows: Iterable[Row]) -> list[str]:
    """Those who have a figure or an error in these rows, in the usual order."""
    present = {name for row in rows for name in row["results"]}
    return [name for name in RIVALS if name in present]


def _cell(row: Row, rival: str, field: str, text: Callable[[float], str]) -> str:
    result = row["results"].get(rival, {})
    if field in result:
        return text(result[field])
    return "error" if "error" in result else ""


def table(rows: Sequence[Row], field: str = "best") -> list[Cells]:
    """A line for each workload: its figures, PyTorch's over clew's, and what was asked. The first line is the head."""
    rivals = rivals_of(rows)
    text = bytes_text if field == "bytes" else time_text
    lines = [["", *(RIVALS[name].label for name in rivals), "PyTorch / clew", "asked"]]
    for row in rows:
        cells = [_cell(row, name, field, text) for name in rivals]
        lines.append([row["workload"], *cells, *_against_torch(row, field)])
    return lines


def _against_torch(row: Row, field: str) -> Cells:
    if not {"clew", "torch"} <= set(row["results"]):
        return ["", ""]
    if field == "bytes":
        ours, theirs = (row["results"][name].get(field) for name in ("clew", "torch"))
        found, asked = (theirs / ours if ours and theirs else None), 1.0
    else:
        found, bar = ratio(row, "torch"), bar_of(row, "torch")
        asked = bar.ratio if bar is not None else 0.0
    if found is None:
        return ["", f"{asked:g}"]
    return [f"{found:.2f}", f"{asked:g}: {'yes' if found >= asked else 'NO'}" if asked else ""]


def compiled_table(rows: Sequence[Row]) -> list[Cells]:
    """A line for each workload that clew.compile takes part in: times, and its share of eager's and of JAX's."""
    shown = ["clew", "clew.compile", "torch", "torch.compile", "jax"]
    heads = ["eager", *(RIVALS[name].label for name in shown[1:])]
    lines = [["", *heads, "clew.compile / eager", "clew.compile / JAX jit"]]
    for row in rows:
        ours = best(row, "clew.compile")
        shares = [f"{ours / theirs:.2f}" if ours and (theirs := best(row, name)) else "" for name in ("clew", "jax")]
        lines.append([row["workload"], *(_cell(row, name, "best", time_text) for name in shown), *shares])
    return lines


def rates(rows: Sequence[Row], amount: str) -> list[Cells]:
    """How much of ``amount`` (a fact of the workload) a nanosecond each does, and clew's part of the machine's."""
    rivals = rivals_of(rows)
    lines = [["", *(RIVALS[name].label for name in rivals), "clew / machine"]]
    for row in rows:
        done = row["facts"][amount]
        cells = [f"{done / t:.3g}" if (t := best(row, name)) else _cell(row, name, "", str) for name in rivals]
        peak, ours = peak_of(row, rows, amount), best(row, "clew")
        lines.append([row["workload"], *cells, f"{done / ours / peak:.0%}" if peak and ours else ""])
    return lines


def sweep_table(rows: Sequence[Row]) -> list[Cells]:
    """The faster of PyTorch's and NumPy's times over clew's: a line for each operation, a column for each size."""
    rows = [row for row in rows if row["group"] == "sweep" and "clew" in row["results"]]
    sizes = sorted({row["facts"]["size"] for row in rows})
    found = {(row["facts"]["operation"], row["facts"]["direction"], row["facts"]["size"]): row for row in rows}
    lines = [["", "", *(f"10^{len(str(size)) - 1}" for size in sizes)]]
    for operation, direction in dict.fromkeys(key[:2] for key in found):
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
    return f"{margin:.2f}" + (" !" if margin < 1 / SLOWER_ALLOWED else "")


def first_calls(rows: Sequence[Row]) -> list[Cells]:
    """For those workloads and rivals whose first call compiles; under the first number of threads."""
    compilers = [name for name in rivals_of(rows) if RIVALS[name].compiles]
    shown = ["clew", "torch", *compilers]
    lines = [["", *(RIVALS[name].label for name in shown)]]
    for row in rows:
        if row["threads"] == rows[0]["threads"] and row["group"] == "training" and set(compilers) & set(row["results"]):
            lines.append(
                [row["workload"], *(_cell(row, name, "first_call_seconds", "{:.3g}".format) for name in shown)]
            )
    return lines if compilers else []


def tenth_calls(rows: Sequence[Row]) -> list[Cells]:
    """For the workloads that clew.compile takes part in; under the first number of threads."""
    rivals = [name for name in rivals_of(rows) if any("tenth_call_seconds" in r["results"].get(name, {}) for r in rows)]
    lines = [["", *(RIVALS[name].label for name in rivals)]]
    for row in rows:
        cells = [_cell(row, name, "tenth_call_seconds", lambda s: f"{1e3 * s:.3g}") for name in rivals]
        if row["threads"] == rows[0]["threads"] and any(cells):
            lines.append([row["workload"], *cells])
    return lines


def verdict_table(verdicts: Iterable[Verdict]) -> list[Cells]:
    lines = [["", "threads", "asked", "found", ""]]
    return lines + [[v.name, str(v.threads), v.asked, v.found, "met" if v.is_met else "MISSED"] for v in verdicts]


def counts(verdicts: Sequence[Verdict]) -> str:
    """How many are met, of each kind."""
    asked, met = Counter(v.kind for v in verdicts), Counter(v.kind for v in verdicts if v.is_met)
    return "; ".join(f"{kind}: {met[kind]} of {count} met" for kind, count in asked.items()) or "nothing"


def errors(rows: Iterable[Row]) -> list[str]:
    """What each rival could not do."""
    return [
        f"{row['workload']} ({threads_text(row['threads'])}): {name}: {result['error']}"
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
