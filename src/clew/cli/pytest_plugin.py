"""What ``clew xray -m pytest`` gives to pytest, to write down each test. PYTEST_DONT_REWRITE."""

from __future__ import annotations

from collections.abc import Generator
from time import perf_counter
from typing import Any

import pytest

from .. import _core
from ..graph.model import events
from .per_test import TestRecord, finished

_outcomes: dict[str, str] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Called by pytest around each test."""
    passes = 0

    def count(roots: object, release: object) -> None:
        nonlocal passes
        passes += 1

    before, started = _core.graph_counters(), perf_counter()
    events.listen(count)
    try:
        return (yield)
    finally:
        events.stop_listening(count)
        seconds, after = perf_counter() - started, _core.graph_counters()
        built, saved, left = (after[name] - before[name] for name in ("nodes_built", "bytes_saved", "nodes_alive"))
        outcome = _outcomes.pop(item.nodeid, "passed")
        finished.append(TestRecord(item.nodeid, outcome, passes, built, saved, max(0, left), seconds))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Called by pytest with what came of a test's setup, call and teardown."""
    if report.outcome != "passed":
        _outcomes.setdefault(report.nodeid, report.outcome)
