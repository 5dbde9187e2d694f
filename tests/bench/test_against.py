"""What counts as slower than another clew, and what is printed of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench import against, report

Row = dict[str, Any]


def results(ours: float, theirs: float) -> Row:
    return {"clew": {"best": ours}, "against": {"best": theirs}}


def row(group: str, first: tuple[float, float], second: tuple[float, float] | None = None, threads: int = 1) -> Row:
    made: Row = {"workload": f"some {group}", "group": group, "threads": threads, "results": results(*first)}
    return made | ({"second run": results(*second)} if second else {})


@pytest.mark.parametrize(
    ("group", "ours", "theirs", "is_slower"),
    [
        ("training", 1029.0, 1000.0, False),
        ("training", 1031.0, 1000.0, True),
        ("training", 10.4, 10.0, True),
        ("overhead", 51.9, 50.0, False),  # more than 3 %, but no 2 ns
        ("overhead", 52.1, 50.0, True),
        ("overhead", 102.9, 100.0, False),  # more than 2 ns, but no 3 %
        ("sweep", 1079.0, 1000.0, False),
        ("sweep", 1081.0, 1000.0, True),
        ("sweep", 500.0, 1000.0, False),
    ],
)
def test_what_is_slower(group: str, ours: float, theirs: float, is_slower: bool) -> None:
    assert against.is_slower(group, results(ours, theirs)) is is_slower


def test_slower_is_what_is_so_twice() -> None:
    assert against.is_slower_twice(row("training", (110, 100), (104, 100)))
    assert not against.is_slower_twice(row("training", (110, 100), (101, 100)))
    assert not against.is_slower_twice(row("training", (101, 100), (110, 100)))


def test_what_could_not_be_measured_is_not_compared() -> None:
    failed = row("training", (1, 1)) | {"results": {"clew": {"best": 1.0}, "against": {"error": "AttributeError: no"}}}
    assert not against.is_slower_twice(failed)
    assert against.conclusion([failed, row("training", (1, 1))]).startswith("Of 1 rows compared 0 are slower")


def test_tables_and_conclusion() -> None:
    rows = [row("training", (110, 100), (104, 100)), row("sweep", (110, 100), (100, 100), 2)]
    (one, one_lines), (two, two_lines), (slower, slower_lines) = against.tables(rows)
    assert "one thread" in one
    assert "2 threads" in two
    assert " ".join(report.plain(one_lines).splitlines()[1].split()) == "some training 110 ns 100 ns 1.100 1.040 SLOWER"
    assert " ".join(report.plain(two_lines).splitlines()[1].split()) == "some sweep 110 ns 100 ns 1.100 1.000"
    assert slower == "Slower in two runs"
    assert len(slower_lines) == 2
    assert against.conclusion(rows).startswith("Of 2 rows compared 1 are slower in two runs, 1 in one only")
