"""``examples/keep/`` does what it says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clew
from clew import _core

sys.path.append(str(Path(__file__).parents[2] / "examples" / "keep"))  # behind everything installed

import controller
import hmc
import pinn
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
    seen, test = shipped.rotated(images), len(images) // 4
    program = shipped.trained(images[test:], labels[test:], steps=100)
    shipped.ship(program, tmp_path)
    sanitized = "CFLAGS=-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
    subprocess.run(["make", "-B", "main", sanitized], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
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


def test_a_network_solves_the_heat_equation() -> None:
    solution, losses, _ = pinn.train()
    assert losses[0] > 0.1
    assert losses[-1] < 1e-6
    points = np.random.default_rng(0).random((500, 2))
    expected = np.exp(-pinn.DIFFUSIVITY * np.pi**2 * points[:, 1]) * np.sin(np.pi * points[:, 0])
    with clew.no_grad():
        assert np.abs(solution(clew.from_numpy(points)).numpy() - expected).max() < 1e-3
    assert pinn.error(solution) < 1e-3 < pinn.error(pinn.Solution())


def test_compiled_training_is_training_by_python_to_the_bit() -> None:
    _, compiled, _ = pinn.train(steps=40)
    assert compiled == pinn.train(compiled=False, steps=40)[1]


def posterior(draws: int = 200_000) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the regression's posterior, by importance sampling around its mode."""
    rows, random = hmc.data().numpy(), np.random.default_rng(1)
    mode = np.zeros(rows.shape[1])
    for _ in range(20):
        chance = 1 / (1 + np.exp(rows @ mode))
        curvature = (rows * (chance * (1 - chance))[:, None]).T @ rows + np.eye(len(mode))
        mode += np.linalg.solve(curvature, rows.T @ chance - mode)
    normal = random.standard_normal((draws, len(mode)))
    q = mode + normal @ np.linalg.cholesky(np.linalg.inv(curvature)).T
    logs = -np.logaddexp(0, -q @ rows.T).sum(1) - 0.5 * (q * q).sum(1) + 0.5 * (normal * normal).sum(1)
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    mean = weights @ q
    return mean, np.sqrt(weights @ (q - mean) ** 2)


def test_draws_are_of_the_posterior() -> None:
    draws, accepted = hmc.sample()
    mean, deviation = posterior()
    assert 0.8 < accepted <= 1
    assert np.abs(draws.mean(0) - mean).max() < 0.02
    assert np.abs(draws.std(0) - deviation).max() < 0.02


def test_a_replayed_path_is_the_path_to_the_bit() -> None:
    x = hmc.data()
    for q, p in clew.randn(3, 2, x.shape[1], dtype=clew.float64):
        for replayed, by_python in zip(hmc.compiled_path(x, q, p), hmc.path(x, q, p), strict=True):
            assert clew.equal(replayed, by_python)
    assert hmc.compiled_path.hits > 0 or not _core.records_calls


def test_laplace_is_near_the_posterior() -> None:
    mean, deviation = posterior()
    mode, width = hmc.laplace()
    assert np.abs(mode - mean).max() < 0.1
    assert np.abs(width - deviation).max() < 0.02


def test_the_pendulum_stands_and_stands_up_again_when_pushed() -> None:
    angles, seconds = controller.run()
    off = controller.from_upright(angles)
    half = len(off) // 2
    assert off[:half].max() > 3
    assert off[half - 200 : half].max() < 0.05
    assert off[half:].max() > 1
    assert off[-200:].max() < 0.05
    assert (seconds > 0).all()


def test_replayed_torques_move_it_as_those_of_python_do() -> None:
    replayed, by_python = (controller.run(compiled, ticks=300)[0] for compiled in (True, False))
    assert (replayed == by_python).all()


def test_the_new_examples_run_as_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    for example in (pinn, hmc, controller):
        example.main()
    printed = capsys.readouterr().out
    assert "compiled" in printed
    assert "replayed" in printed
    assert "over 1 ms" in printed
