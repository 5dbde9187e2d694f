"""What the repository's README shows of figures; its table: `python -m bench.readme`.

A figure stands in one place, `docs/benchmarks/figures.json`; what else shows it is made from there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.bars import best
from bench.report import bytes_text, markdown, time_text

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "benchmarks" / "figures.json"
README = ROOT / "README.md"
MARKS = "figures: made by python -m bench.readme", "end of figures"

# What the table shows, in order: the workload, and what it is called there.
SHOWN = {
    "product of 4 elements, recorded": "recording a product of 4 elements",
    "chain of 1000 products, forward and backward": "chain of 1000 products, forward and backward, per product",
    "graph of 1000 nodes freed": "freeing a graph, per node",
    "tiny MLP step, SGD": "tiny MLP (8x4→16→1), SGD",
    "tiny MLP step, Adam": "the same, Adam",
    "MLP 784-256-256-10, batch 64, Adam": "MLP 784-256-256-10, batch 64, Adam",
    "policy gradient, batch 1, episode of 100 steps": "policy gradient, batch 1, an episode of 100 steps",
    "tree network, another shape each step": "tree network, another shape each step",
    "LSTM, 50 steps, batch 16, hidden 128": "LSTM, 50 steps, batch 16, hidden 128",
    "mini-GPT, 4x64 tokens, width 128, AdamW": "mini-GPT, 4x64 tokens, width 128",
    "convolution net 28x28, 32 and 64 channels, batch 64": "convolution net on 28x28, batch 64",
    "second order, MLP 2-32-32-32-1, 256 points": "a gradient of gradients, MLP 2-32-32-32-1, 256 points",
}
PEAK = "peak memory over the import's"
SHOWN_MEMORY = {
    "MLP 784-256-256-10, batch 64, Adam": f"{PEAK}: MLP 784-256-256-10, batch 64, Adam",
    "mini-GPT, 4x64 tokens, width 128, AdamW": f"{PEAK}: mini-GPT, 4x64 tokens, width 128",
    "bytes of a link of a long chain": "memory of a node of a long chain of products, with what it saved",
}


OTHERS = {"jax": "JAX", "autograd": "HIPS autograd"}


def table(figures: dict[str, Any]) -> str:
    """Time of clew, PyTorch and others on one thread, and the peaks of memory."""
    lines = [["", "clew", "PyTorch", *OTHERS.values(), "PyTorch / clew"]]
    rows = {row["workload"]: row for row in figures["rows"] if row["threads"] == 1}
    for workload, title in SHOWN.items():
        row = rows.get(workload, {"results": {}})
        ours, theirs = best(row, "clew"), best(row, "torch")
        if ours is not None and theirs is not None:
            others = [best(row, name) for name in OTHERS]
            texts = ["" if other is None else time_text(other) for other in others]
            lines.append([title, time_text(ours), time_text(theirs), *texts, f"{theirs / ours:.1f}×"])  # noqa: RUF001
    memory = {row["workload"]: row for row in figures["memory"]}
    for workload, title in SHOWN_MEMORY.items():
        results = memory.get(workload, {"results": {}})["results"]
        ours, theirs = (results.get(name, {}).get("bytes") for name in ("clew", "torch"))
        if ours is not None and theirs is not None:
            others = [results.get(name, {}).get("bytes") for name in OTHERS]
            texts = ["" if other is None else bytes_text(other) for other in others]
            lines.append([title, bytes_text(ours), bytes_text(theirs), *texts, f"{theirs / ours:.1f}×"])  # noqa: RUF001
    return markdown(lines)


def fill(mark: str, end: str, content: str, text: str) -> str:
    """`text` with `content` between two comments: ``<!-- mark -->`` and ``<!-- end -->``."""
    begin, end = f"<!-- {mark} -->", f"<!-- {end} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"README: expected the marks {begin!r} and {end!r}, got a text without them")
    return f"{before}{begin}\n{content}\n{end}{after}"


def filled(text: str, figures: dict[str, Any]) -> str:
    """The README's text with the table of these figures."""
    return fill(*MARKS, f"\n{table(figures)}\n", text)


def write(figures: dict[str, Any]) -> None:
    """Renew the README's table."""
    README.write_text(filled(README.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    write(json.loads(FIGURES.read_text(encoding="utf-8")))
