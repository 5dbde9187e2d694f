"""6.5: programs in which a stale replay would be wrong. Compiled, each gives and leaves what it does eagerly."""

import importlib
import pkgutil

import pytest
import stale_programs
from stale_programs.harness import PROGRAMS, outcomes

import clew

pytestmark = pytest.mark.beyond

KINDS = [importlib.import_module(f"stale_programs.{one.name}") for one in pkgutil.iter_modules(stale_programs.__path__)]


def test_there_are_a_hundred_of_them():
    assert len(PROGRAMS) >= 100
    assert all(kind.__doc__ for kind in KINDS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_eager(name):
    eager = outcomes(name, lambda function: function)
    compiled = outcomes(name, clew.compile)
    for turn, (expected, found) in enumerate(zip(eager.outcomes, compiled.outcomes, strict=True)):
        assert found == expected, f"call {turn}"
    assert any(one != eager.outcomes[0] for one in eager.outcomes), "no replay could be stale"
