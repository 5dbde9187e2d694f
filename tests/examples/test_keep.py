"""``examples/keep/`` does what it says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clew

sys.path.append(str(Path(__file__).parents[2] / "examples" / "keep"))  # behind everything installed

import shipped
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


@pytest.mark.skipif(shutil.which("make") is None or shutil.which("cc") is None, reason="no C compiler")
def test_a_shipped_network_learns_what_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    known, before, after = shipped.main()
    assert known > 0.94
    assert before < 0.3
    assert after > 0.9
    assert "bytes of RAM" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("make") is None or shutil.which("cc") is None, reason="no C compiler")
def test_training_on_the_device_is_training_in_python(tmp_path: Path) -> None:
    images, labels = shipped.data()
    seen, test = shipped.turned(images), len(images) // 4
    program = shipped.trained(images[test:], labels[test:], steps=100)
    shipped.ship(program, tmp_path)
    _, after = shipped.train_on(tmp_path, seen, labels, steps=200)

    def load(first: int, begin: int, end: int) -> None:
        chosen = begin + (first + np.arange(shipped.BATCH)) % (end - begin)
        program["images"].copy_(clew.from_numpy(seen[chosen]))
        program["labels"].copy_(clew.from_numpy(labels[chosen]))

    for step in range(200):
        load(step * shipped.BATCH, test, len(images))
        program.run()
    right = 0
    for first in range(0, test, shipped.BATCH):
        load(first, 0, test)
        program["scores"].forward()
        right += int((program["scores"].argmax(1) == program["labels"])[: test - first].sum())
    assert abs(after - right / test) < 0.01
