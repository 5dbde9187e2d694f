"""What each test builds and leaves behind, under ``clew xray -m pytest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.model.wording import bytes_text


@dataclass(frozen=True, slots=True)
class TestRecord:
    """One test, from its setup until after its teardown."""

    __test__ = False  # no test itself

    name: str
    outcome: str
    backward_passes: int
    nodes: int
    saved_bytes: int
    left_nodes: int
    seconds: float


finished: list[TestRecord] = []


def lines(records: Sequence[TestRecord]) -> list[str]:
    """A table, in the order in which the tests ran."""
    width = max(4, *(len(record.name) for record in records))
    head = f"  {'test':<{width}}  {'outcome':<8} {'backward':>8} {'nodes':>8} {'saved':>10} {'left':>6} {'seconds':>8}"
    rows = [
        f"  {one.name:<{width}}  {one.outcome:<8} {one.backward_passes:>8,} {one.nodes:>8,} "
        f"{bytes_text(one.saved_bytes):>10} {one.left_nodes:>6,} {one.seconds:>8.3f}"
        for one in records
    ]
    return [head, *rows, "  (left: nodes that were alive when the test had ended and not when it began)"]
