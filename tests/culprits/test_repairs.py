"""The smallest repair is one: each program of the corpus for which there is one runs when it is made."""

from __future__ import annotations

import linecache
import types
import warnings

import in_place
import lost_history
import pytest
import second_backward
from corpus import programs_of

import clew
from clew.graph.explanations.failures import reason_of
from clew.graph.explanations.repairs import parties_of, repair_of

PROGRAMS = [program for module in (second_backward, in_place, lost_history) for program in programs_of(module.__name__)]

WRITES_TWICE = {"running_statistic_updated_after_use"}  # the error knows the last write


def error_of(program):
    with pytest.raises(Exception) as caught, warnings.catch_warnings(action="ignore"):  # noqa: PT011
        program.run(clew)
    return reason_of(caught.value)


def repaired(program, repair):
    """The program's function, from its module with the change made."""
    lines = []
    for number, line in enumerate(linecache.getlines(repair.file), 1):
        lines += [f"{new}\n" for new in repair.changes[number]] if number in repair.changes else [line]
    module = types.ModuleType(program.run.__module__)
    linecache.cache["repaired.py"] = (0, None, lines, "repaired.py")
    exec(compile("".join(lines), "repaired.py", "exec"), vars(module))
    return getattr(module, program.name).run


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_what_is_repaired_runs(program):
    error = error_of(program)
    repair = repair_of(error)
    if repair is None:
        pytest.skip("no change of a line is sure to be right")
    changed = [line for line in repair.diff.splitlines() if line[:1] in "+-"]
    assert changed
    run = repaired(program, repair)
    with warnings.catch_warnings(action="ignore"):
        if program.name not in WRITES_TWICE:
            run(clew)
            return
        with pytest.raises(clew.autograd.errors.InplaceError) as caught:
            run(clew)
    assert caught.value.written_at.line < error.written_at.line  # one write less


@pytest.mark.parametrize(("module", "least"), [(second_backward, 8), (in_place, 7), (lost_history, 3)])
def test_many_have_one(module, least):
    found = [repair_of(error_of(program)) for program in programs_of(module.__name__)]
    assert sum(repair is not None for repair in found) >= least


def test_the_parties_of_a_write():
    x = clew.ones(3, requires_grad=True)
    y = x.exp()  # saves
    y += 1  # writes
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    parties = parties_of(caught.value)
    told = {what: linecache.getline(file, line).partition("# ")[2].strip() for what, file, line, _ in parties}
    assert told == {"saved here": "saves", "written here": "writes"}
    assert repair_of(caught.value).title.startswith("write `y = y + 1` at test_repairs.py:")
