"""What is asked of the figures, and what is printed, saved and drawn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench import report, session
from bench.bars import BARS, LIMITS, SHARES, verdicts
from bench.workloads import everything

Row = dict[str, Any]


def row(workload: str, group: str = "training", threads: int = 1, facts: Row | None = None, **best: Any) -> Row:
    results = {name: {"error": v} if isinstance(v, str) else _result(v) for name, v in best.items()}
    return {"workload": workload, "group": group, "threads": threads, "facts": facts or {}, "results": results}


def _result(value: float) -> Row:
    return {"best": value, "median": value, "rounds": [value], "first_call_seconds": 0.5}


def swept(size: int, bytes_: int = 0, **best: Any) -> Row:
    facts = {"operation": "add", "size": size, "direction": "forward", "bytes": bytes_}
    return row(f"sweep add, {size}, forward", "sweep", facts=facts, **best)


def found(rows: list[Row], memory: list[Row] | None = None) -> dict[str, bool]:
    return {verdict.kind: verdict.is_met for verdict in verdicts(rows, memory or [])}


@pytest.mark.parametrize(
    ("measured", "kind", "is_met"),
    [
        ([row("LSTM, 50 steps", clew=10.0, torch=15.1)], "PyTorch", True),
        ([row("LSTM, 50 steps", clew=10.0, torch=14.9)], "PyTorch", False),
        ([row("LSTM, 50 steps", clew="AttributeError: no", torch=14.9)], "PyTorch", False),
        ([row("anything else", clew=10.0, torch=9.9)], "PyTorch", False),
        ([row("MLP 784", clew=11.0, jax=10.01)], "JAX", True),
        ([row("MLP 784", clew=11.0, jax=9.9)], "JAX", False),
        ([row("MLP 784", clew=10.0, **{"clew.compile": 9.5})], "clew.compile", True),
        ([row("MLP 784", clew=10.0, **{"clew.compile": 9.6})], "clew.compile", False),
        ([row("MLP 784", clew=10.0, **{"clew.compile": "KeepError: no"})], "clew.compile", False),
        ([row("GELU chain", clew=9.0, jax=10.0, **{"clew.compile": 11.0})], "clew.compile", True),
        ([row("matmul 512", "matmul", facts={"flops": 100}, clew=10.0, machine=8.6)], "the peak", True),
        ([row("matmul 512", "matmul", facts={"flops": 100}, clew=10.0, machine=8.4)], "the peak", False),
        ([row("matmul 512", "matmul", facts={"flops": 100}, clew=10.0, numpy=8.4)], "the peak", False),
        ([swept(10, clew=1.05, torch=2.0, numpy=1.0)], "operations", True),
        ([swept(10, clew=1.06, torch=2.0, numpy=1.0)], "operations", False),
        ([swept(10, clew=1.06, torch=1.0)], "operations", False),
        ([swept(10, clew="ValueError: no", torch=1.0)], "operations", False),
    ],
)
def test_what_is_asked(measured: list[Row], kind: str, is_met: bool) -> None:
    assert found(measured) == {kind: is_met}


@pytest.mark.parametrize(("time", "is_met"), [(11.0, True), (12.0, False)])
def test_large_operations_beside_a_copy(time: float, is_met: bool) -> None:
    copy = row("copy of 400 MB", "bandwidth", facts={"bytes": 1000}, clew=1.0, machine=10.0)
    assert found([copy, swept(10_000_000, 1000, clew=time)])["bandwidth"] is is_met


def test_difference_of_two_workloads() -> None:
    rows = [row(LIMITS[0].workload, clew=150.0), row(LIMITS[0].less, clew=60.0)]
    (verdict,) = verdicts(rows)
    assert (verdict.name, verdict.found, verdict.is_met) == (LIMITS[0].name, "90 ns", True)


def test_nanoseconds_of_a_compiled_product() -> None:
    rows = [row("chain of 1000 products, forward and backward", clew=50.0, **{"clew.compile": 20.0})]
    asked = {v.asked: (v.kind, v.found, v.is_met) for v in verdicts(rows)}
    assert asked == {
        "at most 30 ns": ("clew.compile", "20 ns", True),
        "at most 4 ns": ("clew.compile with generated code", "20 ns", False),
    }


def test_shares_and_tenth_calls_are_shown() -> None:
    measured = row("tiny MLP step, SGD", clew=10.0, jax=4.0, **{"clew.compile": 5.0})
    for seconds, result in enumerate(measured["results"].values()):
        result["tenth_call_seconds"] = 0.001 * (seconds + 1)
    shown = dict(report.tables([measured], []))
    assert shown["Compiled functions, one thread"][1][-2:] == ["0.50", "1.25"]
    (tenth,) = (lines for title, lines in shown.items() if "tenth" in title)
    assert tenth == [["", "clew", "clew.compile", "JAX jit"], ["tiny MLP step, SGD", "1", "3", "2"]]


def test_peak_memory() -> None:
    peaks = row("LSTM") | {"results": {"clew": {"bytes": 90.0}, "torch": {"bytes": 100.0}}}
    assert found([], [peaks]) == {"peak memory": True}
    assert "90 B" in report.plain(report.table([peaks], "bytes"))


def test_every_bar_is_of_some_workload() -> None:
    names = [workload.name for workload in everything()]
    for bar in BARS:
        assert any(name.startswith(bar.workload) for name in names), bar
    for share in SHARES:
        assert any(w.replayed for w in everything() if w.name.startswith(share.workload)), share
    for limit in LIMITS:
        assert {limit.workload, limit.less} <= set(names)


def test_tables() -> None:
    rows = [row("LSTM, 50 steps", clew=1500.0, torch=3000.0, jax="TypeError: no"), swept(10, clew=2.0, torch=1.0)]
    text = "\n".join(title + report.plain(lines) for title, lines in report.tables(rows, []))
    assert "1.5 µs" in text
    assert "2.00  1.5: yes" in text
    assert "0.50 !" in text
    assert report.errors(rows) == ["LSTM, 50 steps (one thread): jax: TypeError: no"]


def test_saved_figures_are_read_and_merged(tmp_path: Path) -> None:
    figures = {"command": "one", "versions": {"clew": "1"}, "rows": [row("LSTM", clew=1.0)], "memory": []}
    later = figures | {"command": "two", "rows": [row("LSTM", clew=2.0), row("HMC", clew=3.0)]}
    names = [str(tmp_path / name) for name in ("one.json", "two.json")]
    session.save(figures, names[0])
    session.save(later, names[1])
    whole = session.merged(names)
    assert whole["command"] == "two"
    assert {r["workload"]: r["results"]["clew"]["best"] for r in whole["rows"]} == {"LSTM": 2.0, "HMC": 3.0}
