"""A sweep over learning rates and widths, by whatever runs functions elsewhere.

    python examples/scaling/sweep.py                   # concurrent.futures, of the standard library
    python examples/scaling/sweep.py --by joblib       # or dask, or ray, on as many machines as they know

Each trial trains a small network by a compiled step, which is recorded in the worker, and gives its loss on points that
it has not seen.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import clew as torch
from clew import nn


class Trial(NamedTuple):
    """What is varied."""

    lr: float
    width: int


class Result(NamedTuple):
    """What comes back; the module travels, too."""

    loss: float
    trial: Trial
    model: nn.Module


def target(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(3 * x) * x


def run(trial: Trial, steps: int = 300) -> Result:
    """One trial, on one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, trial.width), nn.Tanh(), nn.Linear(trial.width, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.lr)

    @torch.compile
    def step(x: torch.Tensor) -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), target(x)).backward()
        optimizer.step()

    x = torch.linspace(-2, 2, 64).unsqueeze(1)
    for _ in range(steps):
        step(x)
    unseen = x[:-1] + 2 / 63
    with torch.no_grad():
        loss = nn.functional.mse_loss(model(unseen), target(unseen)).item()
    return Result(loss, trial, model)


def by_futures(trials: Sequence[Trial]) -> list[Result]:
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(run, trials))


def by_joblib(trials: Sequence[Trial]) -> list[Result]:
    import joblib

    return list(joblib.Parallel(n_jobs=2)(joblib.delayed(run)(trial) for trial in trials))


def by_dask(trials: Sequence[Trial]) -> list[Result]:
    import dask

    return list(dask.compute(*map(dask.delayed(run), trials), scheduler="processes", num_workers=2))


def by_ray(trials: Sequence[Trial]) -> list[Result]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False)
    try:
        remote = ray.remote(run)
        return list(ray.get([remote.remote(trial) for trial in trials]))
    finally:
        ray.shutdown()


WAYS: dict[str, Callable[[Sequence[Trial]], list[Result]]] = {
    "futures": by_futures,
    "joblib": by_joblib,
    "dask": by_dask,
    "ray": by_ray,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--by", choices=WAYS, default="futures")
    options = parser.parse_args()
    trials = [Trial(lr, width) for lr, width in itertools.product((0.003, 0.01, 0.03), (8, 32))]
    for loss, trial, _ in sorted(WAYS[options.by](trials)):
        print(f"loss {loss:.5f}   lr {trial.lr:<5}  width {trial.width}")


if __name__ == "__main__":
    main()
