"""Row 6.2: `CLEW_PASSES` leaves passes out; the bits are eager's without each of them, too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew import _core

pytestmark = pytest.mark.unsanitized("processes of its own, each for all programs")

PROGRAMS = Path(__file__).with_name("switched_programs.py")


def run(passes):
    return subprocess.run(
        [sys.executable, str(PROGRAMS)], env={**os.environ, "CLEW_PASSES": passes}, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", [name for name, _ in _core.passes()])
def test_programs_without_the_pass_give_eagers_bits(name):
    done = run(f"-{name}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("iterations of" in done.stdout) == (name != "reroll_loops")


def test_programs_without_any_pass_give_eagers_bits():
    done = run(",".join(f"-{name}" for name, _ in _core.passes()))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("word", ["fuse_strips", "-fuse_strip", "-fuse_strips,"])
def test_a_name_that_is_no_pass_is_refused(word):
    done = run(word)
    refused = word != "-fuse_strips,"
    assert (done.returncode != 0) == refused
    assert not refused or "CLEW_PASSES: expected names of passes, each after a '-'" in done.stderr


def test_the_page_lists_all_passes():
    page = (Path(__file__).parents[3] / "docs" / "internals" / "kept-graphs.md").read_text()
    for name, _ in _core.passes():
        assert f"| `{name}` |" in page
