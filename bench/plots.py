"""The pictures of a page: ratios, time against size of graph and tensor, bytes against depth."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.bars import bar_of, best, ratio
from bench.report import threads_text
from bench.rivals import RIVALS

Row = Mapping[str, Any]

# Okabe and Ito's colours, which people who see fewer colours can tell apart; markers differ as well.
STYLES: dict[str, dict[str, Any]] = {
    "clew": {"color": "#D55E00", "marker": "o", "linewidth": 2.2, "zorder": 5},
    "clew.compile": {"color": "#E69F00", "marker": "P"},
    "torch": {"color": "#0072B2", "marker": "s"},
    "torch.compile": {"color": "#56B4E9", "marker": "D"},
    "jax": {"color": "#009E73", "marker": "^"},
    "numpy": {"color": "#000000", "marker": "x"},
    "autograd": {"color": "#CC79A7", "marker": "v"},
}
SHOWN = ("add", "tanh", "sum", "softmax", "index", "pow")


def draw(rows: Sequence[Row], memory: Sequence[Row], folder: str) -> dict[str, str]:
    """All pictures that these figures suffice for: file names and what they show."""
    made = {ratios(rows, folder): "How many times PyTorch's time is clew's, for each workload"}
    made[graph_size(rows, folder)] = "Forward and backward of a chain against its length"
    for threads in sorted({row["threads"] for row in rows}):
        made[tensor_size(rows, folder, threads)] = f"Operations against the number of elements, {threads_text(threads)}"
    made[depth(memory, folder)] = "Peak of the memory against depth"
    return {name: says for name, says in made.items() if name is not None}


def _finish(figure: Figure, folder: str, name: str) -> str:
    figure.savefig(os.path.join(folder, name), bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return name


def _line(axes: Axes, rival: str, points: Iterable[tuple[float, float]]) -> None:
    xs, ys = zip(*sorted(points), strict=True)
    axes.plot(xs, ys, label=RIVALS[rival].label, markersize=4.5, **STYLES[rival])


def _plain_grid(axes: Axes) -> None:
    axes.grid(True, which="major", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def ratios(rows: Sequence[Row], folder: str) -> str | None:
    """PyTorch's time over clew's for each workload, one bar for each number of threads, a tick where the bar is."""
    chosen = [row for row in rows if row["group"] in ("overhead", "training") and ratio(row, "torch") is not None]
    if not chosen:
        return None
    names = list(dict.fromkeys(row["workload"] for row in chosen))
    threads = sorted({row["threads"] for row in chosen})
    height = 0.8 / len(threads)
    figure, axes = plt.subplots(figsize=(8, 0.38 * len(names) + 1.2))
    for row in chosen:
        place = names.index(row["workload"]) + (threads.index(row["threads"]) - (len(threads) - 1) / 2) * height
        found = ratio(row, "torch") or 0.0
        colour = ("#D55E00", "#E69F00", "#999999")[threads.index(row["threads"]) % 3]
        axes.barh(place, found, height * 0.92, color=colour)
        axes.text(found * 1.03, place, f"{found:.1f}", va="center", fontsize=7)
        bar = bar_of(row, "torch")
        if bar is not None:
            axes.plot([bar.ratio] * 2, [place - height / 2, place + height / 2], color="black", linewidth=1.4)
    for index, count in enumerate(threads):
        axes.barh(
            [0], [0], color=("#D55E00", "#E69F00", "#999999")[index % 3], label=f"{count} thread" + "s" * (count > 1)
        )
    axes.plot([], [], color="black", linewidth=1.4, label="asked")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(left=min(0.7, 0.8 * min(ratio(row, "torch") or 1 for row in chosen)))
    axes.set_xticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.axvline(1, color="#777777", linewidth=0.8)
    axes.set_xlabel("how many times as long PyTorch takes")
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    _plain_grid(axes)
    return _finish(figure, folder, "ratios.svg")


def graph_size(rows: Sequence[Row], folder: str) -> str | None:
    """Forward and backward over chains, per product."""
    chosen = [row for row in rows if "links" in row["facts"] and row["group"] != "kept"]
    if len({row["facts"]["links"] for row in chosen}) < 2:
        return None
    threads = min(row["threads"] for row in chosen)
    figure, axes = plt.subplots(figsize=(6, 4))
    for rival in STYLES:
        points = [
            (row["facts"]["links"], time * row["facts"]["links"] / 1e9)
            for row in chosen
            if row["threads"] == threads and (time := best(row, rival)) is not None
        ]
        if points:
            _line(axes, rival, points)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("products of 4 elements in the chain")
    axes.set_ylabel("forward and backward, seconds")
    axes.legend(fontsize=8, frameon=False)
    _plain_grid(axes)
    return _finish(figure, folder, "graph-size.svg")


def tensor_size(rows: Sequence[Row], folder: str, threads: int) -> str | None:
    """A small multiple for each of some operations: forward above, backward below."""
    chosen = [row for row in rows if row["group"] == "sweep" and row["threads"] == threads]
    operations = [name for name in SHOWN if any(row["facts"]["operation"] == name for row in chosen)]
    if not operations:
        return None
    figure, grid = plt.subplots(
        2, len(operations), figsize=(2.3 * len(operations) + 0.8, 5), sharex=True, sharey=True, squeeze=False
    )
    for column, operation in enumerate(operations):
        for axes, direction in zip(grid[:, column], ("forward", "backward"), strict=True):
            for rival in STYLES:
                points = [
                    (row["facts"]["size"], time / 1e3)
                    for row in chosen
                    if (row["facts"]["operation"], row["facts"]["direction"]) == (operation, direction)
                    and (time := best(row, rival)) is not None
                ]
                if points:
                    _line(axes, rival, points)
            axes.set_xscale("log")
            axes.set_yscale("log")
            _plain_grid(axes)
            if column == 0:
                axes.set_ylabel(f"{direction}, µs")
        grid[0, column].set_title(operation, fontsize=10)
        grid[1, column].set_xlabel("elements")
    handles = {label: h for axes in grid.flat for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="upper center", ncol=6, fontsize=8, frameon=False)
    return _finish(figure, folder, f"tensor-size-{threads}.svg")


def depth(memory: Sequence[Row], folder: str) -> str | None:
    """Peak of the resident memory against the number of layers."""
    chosen = [row for row in memory if "depth" in row["facts"]]
    if not chosen:
        return None
    figure, axes = plt.subplots(figsize=(6, 4))
    for rival in STYLES:
        points = [
            (row["facts"]["depth"], row["results"][rival]["bytes"] / 2**20)
            for row in chosen
            if "bytes" in row["results"].get(rival, {})
        ]
        if points:
            _line(axes, rival, points)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.yaxis.set_major_formatter("{x:.0f}")
    axes.set_xlabel("layers of 256 units, batch 1024")
    axes.set_ylabel("peak over the import's, MiB")
    axes.legend(fontsize=8, frameon=False)
    _plain_grid(axes)
    return _finish(figure, folder, "depth.svg")
