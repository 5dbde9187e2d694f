"""``examples/keep/`` does what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import clew

sys.path.append(str(Path(__file__).parents[2] / "examples" / "keep"))  # behind everything installed

import static_graph


def test_the_loop_of_the_question() -> None:
    a, y = static_graph.static_graph(rounds=7)
    assert clew.equal(y.detach(), a.detach().sum())
    assert a.grad.tolist() == [[7.0] * 3] * 2


def test_training_gets_better() -> None:
    assert static_graph.train(steps=300) < 0.01 < static_graph.train(steps=5)


def test_as_a_script() -> None:
    done = subprocess.run([sys.executable, static_graph.__file__], capture_output=True, text=True, check=True)
    assert "gradients of 100 rounds: [[100.0, 100.0, 100.0]" in done.stdout
