"""docs/deviations.toml is true: each program gives, under both libraries, what its entry says."""

import importlib.util
from pathlib import Path

import pytest

import clew

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.beyond

SPEC = importlib.util.spec_from_file_location("make_deviations", ROOT / "tools" / "make_deviations.py")
tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)


@pytest.mark.parametrize("entry", tool.entries(), ids=lambda entry: entry["name"])
def test_both_do_what_is_stated(entry, oracle):
    ours = tool.outcome(entry["probe"], clew)
    assert tool.agrees(ours, entry["our_outcome"]), f"clew gives {ours}"
    here = oracle.backends.cpu.get_cpu_capability()
    if entry.get("capability", here) != here:
        pytest.skip(f"PyTorch differs with {entry['capability']} only; it uses {here} here")
    theirs = tool.outcome(entry["probe"], oracle)
    assert ours != theirs, f"no longer a deviation: both give {ours}"
    assert tool.agrees(theirs, entry["pytorch_outcome"]), f"PyTorch gives {theirs}"


def test_the_page_is_up_to_date():
    assert tool.page() == tool.PAGE.read_text(), "run tools/make_deviations.py"
    assert tool.table() == tool.TABLE.read_text(), "run tools/make_deviations.py"


def test_the_exceptions_may_go_on():
    assert tool.agrees("ValueError: x: expected 1", "ValueError: x")
    assert not tool.agrees("ValueError: y", "ValueError: x")
    assert not tool.agrees("tensor([1., 2.])", "tensor([1.")
