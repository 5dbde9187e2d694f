"""``examples/scaling/`` does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "examples" / "scaling"))  # behind everything installed

import chains
import sweep

FOLDER = Path(chains.__file__).parent

pytestmark = pytest.mark.beyond


def test_four_chains_find_the_moments_of_a_banana() -> None:
    draws = chains.sample(1500, workers=2)
    assert draws.shape == (4, 1350, 2)
    assert np.abs(draws.mean((0, 1)) - chains.TRUTH["mean"]).max() < 0.25
    assert np.abs(draws.std((0, 1)) - chains.TRUTH["deviation"]).max() < 0.25
    assert chains.r_hat(draws).max() < 1.05


def test_chains_that_stay_apart_are_told() -> None:
    apart = np.random.default_rng(0).standard_normal((4, 100, 1)) + np.arange(4.0)[:, None, None]
    assert chains.r_hat(apart).item() > 1.3


def test_a_learner_learns_from_what_workers_played() -> None:
    pytest.importorskip("gymnasium")
    import rollouts

    with ProcessPoolExecutor(2) as pool:
        lengths = list(rollouts.train(pool, rounds=12, episodes=8))
    assert np.mean(lengths[-3:]) > 1.3 * np.mean(lengths[:3])


@pytest.mark.parametrize(
    "way", ["futures", "dask", *(pytest.param(way, marks=pytest.mark.slow) for way in ("joblib", "ray"))]
)
def test_a_sweep_by_each_way(way: str) -> None:
    if way != "futures":
        package = pytest.importorskip(way)
        if way == "ray":  # its workers don't look where this file found the example
            package.cloudpickle.register_pickle_by_value(sweep)
    trials = [sweep.Trial(0.003, 4), sweep.Trial(0.03, 16)]
    slow, fast = sweep.WAYS[way](trials)
    assert (slow.trial, fast.trial) == tuple(trials)
    assert fast.loss < 0.1 < slow.loss
    assert slow[0] == sweep.run(trials[0]).loss  # the bits do not depend on where it ran


def test_a_batch_on_four_devices_of_jax_trains_as_one_process() -> None:
    pytest.importorskip("jax")
    done = subprocess.run([sys.executable, FOLDER / "sharded.py"], capture_output=True, text=True, check=True)
    assert "4 devices, 16 of 64 samples on each" in done.stdout
    curves = np.array(re.findall(r"loss (\S+) on the devices, (\S+) in one process", done.stdout), dtype=float)
    assert len(curves) == 8
    assert curves[:, 0] == pytest.approx(curves[:, 1], abs=5e-6)
    assert curves[-1, 0] < 0.5 * curves[0, 0]
