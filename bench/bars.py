"""What is asked of the figures, as data, and whether they are so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]  # a workload's entry in the JSON file

SLOWER_ALLOWED = 1.05  # in the sweep, beside the faster of PyTorch and NumPy
LARGE = 10_000_000
OF_COPY = 0.85


@dataclass(frozen=True, slots=True)
class Bar:
    """``rival``'s time must be at least ``ratio`` times clew's, in each workload whose name begins so."""

    workload: str
    rival: str
    ratio: float
    threads: tuple[int, ...] = (1, 2)


BARS = (
    Bar("product of 4 elements, recorded", "torch", 10),
    Bar("chain of 1000 products, forward and backward", "torch", 10),
    Bar("RK4", "torch", 10),
    Bar("tiny MLP step", "torch", 7),
    Bar("policy gradient", "torch", 5),
    Bar("HMC", "torch", 5),
    Bar("tree network", "torch", 5),
    Bar("second order", "torch", 2),
    Bar("MLP 784", "torch", 2),
    Bar("LSTM", "torch", 1.5),
    Bar("mini-GPT", "torch", 1.5),
    Bar("convolution net", "torch", 1.2),
    Bar("residual block", "torch", 1.2),
    Bar("attention", "torch", 1.2),
    Bar("GELU chain", "torch", 2.5),
    Bar("tiny MLP step", "jax", 1),
    Bar("MLP 784", "jax", 1 / 1.1),
    *(Bar(f"matmul {size}", "machine", 0.85, (1,)) for size in (256, 512, 1024, 2048)),
    *(Bar(f"matmul {size}", "machine", 0.80, (2,)) for size in (512, 1024, 2048)),
)


@dataclass(frozen=True, slots=True)
class Limit:
    """What a figure of clew alone, or the difference of two, may be."""

    name: str
    workload: str
    less: str
    most: float  # nanoseconds


LIMITS = (
    Limit("what recording adds", "product of 4 elements, recorded", "product of 4 elements, no_grad", 100),
    Limit("noting the line, called directly", "product, line noted", "product, line not noted", 15),
    Limit(
        "noting the line, through three frames of clew",
        "product, line noted, through three frames",
        "product, line not noted, through three frames",
        30,
    ),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One thing that was asked, and what was found."""

    name: str
    threads: int
    asked: str
    found: str
    is_met: bool
    kind: str = "ratio"  # or "sweep", "bandwidth", "bytes", "difference"


def best(row: Row, rival: str) -> float | None:
    """Nanoseconds of the best round, if there was one."""
    value: float | None = row["results"].get(rival, {}).get("best")
    return value


def ratio(row: Row, rival: str) -> float | None:
    """How many times clew's time the rival's is."""
    theirs, ours = best(row, rival), best(row, "clew")
    return theirs / ours if theirs is not None and ours else None


def bar_of(row: Row, rival: str) -> Bar | None:
    """The bar of a workload: PyTorch's is at least 1 everywhere."""
    for bar in BARS:
        whole = bar.workload.startswith("matmul")
        matches = row["workload"] == bar.workload if whole else row["workload"].startswith(bar.workload)
        if matches and bar.rival == rival and row["threads"] in bar.threads:
            return bar
    return Bar(row["workload"], "torch", 1) if rival == "torch" and row["group"] != "sweep" else None


def verdicts(rows: Sequence[Row], memory: Sequence[Row] = ()) -> list[Verdict]:
    """All that is asked and can be answered from these figures."""
    return [*_ratios(rows), *_limits(rows), *_sweep(rows), *_bandwidth(rows), *_bytes(memory)]


def _ratios(rows: Iterable[Row]) -> Iterator[Verdict]:
    for row in rows:
        if row["group"] == "sweep":
            continue
        for rival in ("torch", "jax", "machine"):
            bar, found = bar_of(row, rival), ratio(row, rival)
            if bar is None or not {"clew", rival} <= set(row["results"]):
                continue
            said = _said(row, rival) if found is None else _times(found, rival)
            asked = f"at least {_times(bar.ratio, rival)}"
            yield Verdict(row["workload"], row["threads"], asked, said, found is not None and found >= bar.ratio)


def _times(ratio: float, rival: str) -> str:
    label = {"torch": "PyTorch", "jax": "JAX", "machine": "the peak"}[rival]
    return f"{ratio:.0%} of {label}" if rival == "machine" else f"{ratio:.3g}x {label}"


def _said(row: Row, rival: str) -> str:
    for name in ("clew", rival):
        error = row["results"].get(name, {}).get("error")
        if error:
            return f"{name}: {error}"
    return "not measured"


def _limits(rows: Iterable[Row]) -> Iterator[Verdict]:
    times = {(row["workload"], row["threads"]): best(row, "clew") for row in rows}
    for limit in LIMITS:
        for threads in sorted({threads for _, threads in times}):
            whole, part = times.get((limit.workload, threads)), times.get((limit.less, threads))
            if whole is not None and part is not None:
                found = whole - part
                yield Verdict(
                    limit.name,
                    threads,
                    f"at most {limit.most:g} ns",
                    f"{found:.3g} ns",
                    found <= limit.most,
                    "difference",
                )


def _sweep(rows: Iterable[Row]) -> Iterator[Verdict]:
    for row in rows:
        ours = best(row, "clew")
        theirs = {name: t for name in ("torch", "numpy") if (t := best(row, name)) is not None}
        if row["group"] != "sweep" or not theirs or "clew" not in row["results"]:
            continue
        fastest = min(theirs, key=lambda name: theirs[name])
        asked = f"at most {SLOWER_ALLOWED:.2f} of PyTorch's and NumPy's time"
        if ours is None:
            yield Verdict(row["workload"], row["threads"], asked, _said(row, "clew"), False, "sweep")
            continue
        found = ours / theirs[fastest]
        said = f"{found:.2f} of {fastest}'s"
        yield Verdict(row["workload"], row["threads"], asked, said, found <= SLOWER_ALLOWED, "sweep")


def _bandwidth(rows: Sequence[Row]) -> Iterator[Verdict]:
    copies = {
        row["threads"]: row["facts"]["bytes"] / t
        for row in rows
        if row["group"] == "bandwidth" and (t := best(row, "machine"))
    }
    for row in rows:
        facts, ours, copy = row["facts"], best(row, "clew"), copies.get(row["threads"])
        if row["group"] != "sweep" or facts["size"] < LARGE or not facts["bytes"] or ours is None or copy is None:
            continue
        found = facts["bytes"] / ours / copy
        asked = f"at least {OF_COPY:.0%} of the copy's {copy:.1f} GB/s"
        yield Verdict(row["workload"], row["threads"], asked, f"{found:.0%}", found >= OF_COPY, "bandwidth")


def _bytes(memory: Iterable[Row]) -> Iterator[Verdict]:
    for row in memory:
        found = row["results"]
        ours, theirs = (found.get(name, {}).get("bytes") for name in ("clew", "torch"))
        if theirs is None or "clew" not in found:
            continue
        said = _said(row, "torch") if ours is None else f"{ours / theirs:.2f} of it"
        is_met = ours is not None and ours <= theirs
        yield Verdict(row["workload"], row["threads"], "at most PyTorch's peak", said, is_met, "bytes")
