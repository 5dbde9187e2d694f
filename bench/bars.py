"""What is asked of the figures, as data, and whether they are so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.workloads.copy import Copy

Row = Mapping[str, Any]  # a workload's entry in the JSON file

SLOWER_ALLOWED = 1.05  # in the sweep, beside the faster of PyTorch and NumPy
LARGE = 10_000_000  # elements, from which elementwise operations are held against a copy
OF_COPY = 0.85
LABELS = {"torch": "PyTorch", "jax": "JAX", "machine": "the peak"}


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
class Share:
    """What clew.compile may take of another's time; beside nobody, the nanoseconds. On one thread.

    ``by_code``: what is asked where a C compiler has made code of steps.
    """

    workload: str
    beside: str
    most: float
    by_code: bool = False


SHARES = (
    Share("tiny MLP step", "clew", 0.30),
    Share("tiny MLP step", "clew", 0.20, by_code=True),
    Share("gradient of tanh", "clew", 0.25),
    Share("gradient of tanh", "clew", 0.20, by_code=True),
    Share("gradient of a logistic", "clew", 0.2),
    Share("HMC", "jax", 0.7),
    Share("HMC", "jax", 0.4, by_code=True),
    Share("RK4", "clew", 1 / 12),
    Share("RK4", "jax", 0.5, by_code=True),
    Share("chain of 1000 products, forward and backward", "", 30),
    Share("chain of 1000 products, forward and backward", "", 4, by_code=True),
    Share("second order", "clew", 0.75),
    Share("second order", "jax", 0.6),
    Share("MLP 784", "clew", 0.95),
    Share("MLP 784", "jax", 0.9),
    Share("mini-GPT", "clew", 0.90),
    Share("mini-GPT", "jax", 0.9),
    Share("LSTM", "clew", 1),
    Share("LSTM", "jax", 1),
    Share("GELU chain", "jax", 1.1),
    Share("policy gradient", "clew", 0.6),
)


@dataclass(frozen=True, slots=True)
class Limit:
    """What the difference of two of clew's figures may be."""

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

    kind: str
    name: str
    threads: int
    asked: str
    found: str
    is_met: bool


def rows_of(verdict: Verdict) -> tuple[str, ...]:
    """The workloads whose figures decide it."""
    for limit in LIMITS:
        if verdict.name == limit.name:
            return limit.workload, limit.less
    return (verdict.name, Copy.name) if verdict.kind == "bandwidth" else (verdict.name,)


def best(row: Row, rival: str) -> float | None:
    """Nanoseconds of the best round, if there was one."""
    value: float | None = row["results"].get(rival, {}).get("best")
    return value


def ratio(row: Row, rival: str) -> float | None:
    """How many times clew's time the rival's is."""
    theirs, ours = best(row, rival), best(row, "clew")
    return theirs / ours if theirs is not None and ours else None


def peak_of(row: Row, rows: Iterable[Row], amount: str) -> float | None:
    """The most of ``amount`` a nanosecond that the machine did under so many threads, in any row of the group.

    Where it could not be measured (there is no C compiler): the most that any library did.
    """
    same = [r for r in rows if r["group"] == row["group"] and r["threads"] == row["threads"]]
    machine = [r["facts"][amount] / t for r in same if (t := best(r, "machine")) is not None]
    anyone = [r["facts"][amount] / t for r in same for name in r["results"] if (t := best(r, name)) is not None]
    return max(machine or anyone, default=None)


def bar_of(row: Row, rival: str) -> Bar | None:
    """What is asked of a workload beside a rival: beside PyTorch it is at least 1 everywhere."""
    for bar in BARS:
        exact = bar.rival == "machine"  # "matmul 256" is not "matmul 2568"
        matches = row["workload"] == bar.workload if exact else row["workload"].startswith(bar.workload)
        if matches and bar.rival == rival and row["threads"] in bar.threads:
            return bar
    return Bar(row["workload"], "torch", 1) if rival == "torch" and row["group"] != "sweep" else None


def verdicts(rows: Sequence[Row], memory: Sequence[Row] = ()) -> list[Verdict]:
    """All that is asked and that these figures can answer."""
    rows = [row for row in rows if "clew" in row["results"]]
    by_time = (*_ratios(rows), *_shares(rows), *_limits(rows), *_sweep(rows), *_bandwidth(rows))
    return [*by_time, *_bytes(memory)]


def _ratios(rows: Sequence[Row]) -> Iterator[Verdict]:
    for rival, label in LABELS.items():
        for row in rows:
            bar = bar_of(row, rival)
            if bar is None or (rival not in row["results"] and rival != "machine"):
                continue
            found = _of_peak(row, rows) if rival == "machine" else ratio(row, rival)
            said = _said(row, rival) if found is None else _times(found, rival)
            is_met = found is not None and found >= bar.ratio
            yield Verdict(label, row["workload"], row["threads"], f"at least {_times(bar.ratio, rival)}", said, is_met)


def _shares(rows: Sequence[Row]) -> Iterator[Verdict]:
    for share in SHARES:
        for row in rows:
            if not row["workload"].startswith(share.workload) or row["threads"] != 1:
                continue
            needed = {"clew.compile", share.beside} - {""}
            if needed <= set(row["results"]):
                yield _share(share, row)


def _share(share: Share, row: Row) -> Verdict:
    ours, theirs = best(row, "clew.compile"), best(row, share.beside) if share.beside else 1.0
    found = ours / theirs if ours and theirs else None
    unit = f"of {LABELS.get(share.beside, 'eager')}'s time" if share.beside else "ns"
    said = _said(row, share.beside or "clew", "clew.compile") if found is None else f"{found:.2g} {unit}"
    kind = "clew.compile with generated code" if share.by_code else "clew.compile"
    is_met = found is not None and found <= share.most
    return Verdict(kind, row["workload"], 1, f"at most {share.most:.2g} {unit}", said, is_met)


def _of_peak(row: Row, rows: Sequence[Row]) -> float | None:
    peak, ours = peak_of(row, rows, "flops"), best(row, "clew")
    return row["facts"]["flops"] / ours / peak if peak and ours else None


def _times(ratio: float, rival: str) -> str:
    return f"{ratio:.1%} of {LABELS[rival]}" if rival == "machine" else f"{ratio:.3g} times {LABELS[rival]}"


def _said(row: Row, rival: str, ours: str = "clew") -> str:
    results = {name: row["results"].get(name, {}) for name in (ours, rival)}
    return next((f"{name}: {result['error']}" for name, result in results.items() if "error" in result), "not measured")


def _limits(rows: Sequence[Row]) -> Iterator[Verdict]:
    times = {(row["workload"], row["threads"]): best(row, "clew") for row in rows}
    for limit in LIMITS:
        for threads in sorted({threads for _, threads in times}):
            whole, part = times.get((limit.workload, threads)), times.get((limit.less, threads))
            if whole is not None and part is not None:
                said, is_met = f"{whole - part:.3g} ns", whole - part <= limit.most
                yield Verdict("costs of recording", limit.name, threads, f"at most {limit.most:g} ns", said, is_met)


def _sweep(rows: Sequence[Row]) -> Iterator[Verdict]:
    for row in rows:
        theirs = {name: t for name in ("torch", "numpy") if (t := best(row, name)) is not None}
        if row["group"] != "sweep" or not theirs:
            continue
        ours, fastest = best(row, "clew"), min(theirs, key=lambda name: theirs[name])
        said = _said(row, fastest) if ours is None else f"{ours / theirs[fastest]:.2f} of {fastest}'s"
        is_met = ours is not None and ours <= SLOWER_ALLOWED * theirs[fastest]
        asked = f"at most {SLOWER_ALLOWED} of PyTorch's and NumPy's time"
        yield Verdict("operations", row["workload"], row["threads"], asked, said, is_met)


def _bandwidth(rows: Sequence[Row]) -> Iterator[Verdict]:
    copies = {row["threads"]: peak_of(row, rows, "bytes") for row in rows if row["group"] == "bandwidth"}
    for row in rows:
        facts, ours, copy = row["facts"], best(row, "clew"), copies.get(row["threads"])
        if row["group"] != "sweep" or facts["size"] < LARGE or not facts["bytes"] or ours is None or not copy:
            continue
        found = facts["bytes"] / ours / copy
        asked = f"at least {OF_COPY:.0%} of the copy's {copy:.1f} GB/s"
        yield Verdict("bandwidth", row["workload"], row["threads"], asked, f"{found:.0%}", found >= OF_COPY)


def _bytes(memory: Iterable[Row]) -> Iterator[Verdict]:
    for row in memory:
        if not {"clew", "torch"} <= set(row["results"]):
            continue
        ours, theirs = (row["results"][name].get("bytes") for name in ("clew", "torch"))
        said = f"{ours / theirs:.2f} of it" if ours and theirs else _said(row, "torch")
        is_met = bool(ours and theirs and ours <= theirs)
        yield Verdict("peak memory", row["workload"], row["threads"], "at most PyTorch's peak", said, is_met)
