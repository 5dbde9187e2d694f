"""``examples/digits.py`` reaches what it promises, and gives back its memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import clew

sys.path.append(str(Path(__file__).parents[2] / "examples"))  # behind everything installed

import digits

SCRIPT = Path(digits.__file__)


def test_mean_of_five_seeds_is_at_least_97_percent() -> None:
    ticks: list[str] = []
    reached = [digits.train(seed, epochs=40, hidden=128, lr=3e-3, tick=ticks.append) for seed in range(5)]
    assert sum(reached) / 5 >= 0.97, reached
    assert len(ticks) == 200


def test_the_test_images_are_a_stratified_quarter() -> None:
    train_images, test_images, train_labels, test_labels = digits.load()
    assert (len(train_images), len(test_images)) == (1347, 450)
    assert train_images.dtype == clew.float32
    assert test_labels.dtype == clew.int64
    for digit in range(10):
        in_train, in_test = ((labels == digit).sum().item() for labels in (train_labels, test_labels))
        assert in_test / (in_train + in_test) == pytest.approx(0.25, abs=0.01)


def test_same_seed_same_numbers() -> None:
    first, second = (digits.train(3, epochs=1, hidden=32, lr=3e-3, tick=str) for _ in range(2))
    assert first == second


def test_as_a_script() -> None:
    command = [sys.executable, str(SCRIPT), "--seeds", "2", "--epochs", "5", "--hidden", "32", "--lr", "0.003"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["seed", "seed", "mean"]
    assert "10 of 10 epochs" in ran.stderr


def test_a_thousand_steps_leave_no_bytes() -> None:
    images, _, labels, _ = digits.load()
    model = digits.build(32)
    optimizer = clew.optim.Adam(model.parameters(), lr=1e-3)
    live = []
    for _ in range(1000):
        digits.train_step(model, optimizer, images[:64], labels[:64])
        live.append(clew.memory.stats().live)
    assert live[1] == live[-1]
