"""Every answer of ``examples/which_is_freed.py`` is true: the programs assert what they claim."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "examples"))  # behind everything installed

import which_is_freed
from questions.asking import Question
from which_is_freed import QUESTIONS

SCRIPT = Path(which_is_freed.__file__)


@pytest.mark.parametrize("asked", QUESTIONS, ids=[asked.name for asked in QUESTIONS])
def test_answer(asked: Question) -> None:
    assert asked.run().strip()


def test_names_are_unique_and_code_is_shown() -> None:
    assert len({asked.name for asked in QUESTIONS}) == len(QUESTIONS)
    for asked in QUESTIONS:
        assert asked.code.strip()
        assert ".question(" not in asked.code


def test_as_a_script() -> None:
    ran = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True)
    assert f"{len(QUESTIONS)} of {len(QUESTIONS)} questions" in ran.stdout
    for asked in QUESTIONS:
        assert asked.name.replace("_", " ") in ran.stdout


def test_a_choice_and_a_word_that_is_nowhere() -> None:
    ran = subprocess.run([sys.executable, str(SCRIPT), "retain_graph"], capture_output=True, text=True, check=True)
    assert "retain graph in a loop" in ran.stdout
    assert "the chain rule" not in ran.stdout
    ran = subprocess.run([sys.executable, str(SCRIPT), "xylophone"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "no question contains 'xylophone'" in ran.stderr
