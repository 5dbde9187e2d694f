"""A million replays leave no byte and no object more than a few do (`bench/soak.py`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench import soak

pytestmark = pytest.mark.records_calls


@pytest.mark.parametrize("name", soak.PROGRAMS)
def test_nothing_grows(name: str) -> None:
    assert soak.soak(name, soak.PROGRAMS[name](), 2000)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", soak.PROGRAMS)
def test_a_million_replays_leave_nothing(name: str) -> None:
    assert soak.soak(name, soak.PROGRAMS[name](), 1_000_000)


def test_growth_is_seen() -> None:
    kept: list[object] = []
    assert not soak.soak("growing", lambda i: kept.append([i]), 2000)
