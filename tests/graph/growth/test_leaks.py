"""Each kind of leak is told of within 20 iterations: the line that made, and the variable that holds."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any

import leaks  # noqa: F401  (importing fills LEAKS)
import leaks_elsewhere  # noqa: F401
import pytest
from small_training import LEAK_ITERATIONS, LEAKS

import clew
from clew.graph import GrowthWarning


def marked_line(loop: Any) -> int:
    """The line of the loop, or of what it calls from its module, that carries `# grows`."""
    own, start = inspect.getsourcelines(loop)
    found = [start + number for number, text in enumerate(own) if "# grows" in text]
    if not found:
        names = set(loop.__code__.co_names)
        for name in sorted(names & vars(sys.modules[loop.__module__]).keys()):
            helper = getattr(sys.modules[loop.__module__], name)
            if getattr(helper, "__module__", None) == loop.__module__:
                text, start = inspect.getsourcelines(helper)
                found += [start + number for number, line in enumerate(text) if "# grows" in line]
    (line,) = found
    return line


def run_watched(loop: Any) -> list[GrowthWarning]:
    with clew.graph.watch() as watch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loop()
    assert watch.failure is None
    assert [one.message for one in caught if isinstance(one.message, GrowthWarning)] == watch.warnings
    return watch.warnings


@pytest.mark.beyond
@pytest.mark.usefixtures("no_leak")
@pytest.mark.parametrize(("loop", "holder"), LEAKS, ids=[loop.__name__ for loop, _ in LEAKS])
def test_leak_is_named(loop: Any, holder: str) -> None:
    (told,) = run_watched(loop)
    assert (told.made_at.file, told.made_at.line) == (inspect.getfile(loop), marked_line(loop))
    assert told.path == holder
    assert 15 <= told.iterations <= LEAK_ITERATIONS
    assert told.nodes >= told.iterations
    assert told.nbytes > 0


def test_there_are_enough() -> None:
    assert len(LEAKS) >= 20
    assert len({loop.__name__ for loop, _ in LEAKS}) == len(LEAKS)
