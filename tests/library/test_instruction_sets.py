"""A package that was compiled on another kind of processor than it runs on."""

import os
import subprocess
import sys

import pytest

import clew
from clew._instruction_sets import warn_of_another_processor


def test_a_lesser_processor_is_warned_of():
    with pytest.warns(RuntimeWarning, match=r"x86-64-v2 and x86-64-v4.*got x86-64-v3: kernels use v2.*CLEW_LEVELS=all"):
        warn_of_another_processor(("v2", "v4"), "v3")


def test_a_better_processor_is_left_to_the_doctor():
    warn_of_another_processor(("v2", "v3"), "v4")


def test_a_processor_with_none_of_them_is_refused():
    with pytest.raises(ImportError, match=r"x86-64-v4\), got x86-64-v3, on which it can't run"):
        warn_of_another_processor(("v4",), "v3")


def test_only_levels_that_were_compiled_are_used():
    levels = clew._core.isas
    assert set(levels) <= {"v2", "v3", "v4"}
    assert clew._core.isa() in levels
    for level in ("v2", "v3", "v4"):
        program = "import clew; print(clew._core.isa())"
        ran = subprocess.run([sys.executable, "-c", program], env=_environment(level), capture_output=True, text=True)
        if level in levels and level <= clew._core.isa_of_processor():
            assert ran.stdout.strip() == level, ran.stderr
        else:
            assert "CLEW_ISA: expected a level" in ran.stderr


def _environment(level: str) -> dict[str, str]:
    return {**os.environ, "CLEW_ISA": level}
