"""Hamiltonian Monte Carlo: a logistic regression is sampled, by a gradient that is recorded once and replayed.

    python examples/keep/hmc.py     # needs nothing but clew and NumPy; two seconds

Prints the posterior's mean and standard deviation beside those of Laplace's approximation, and the time of a gradient:
as Python runs it, replayed, and replayed as a part of a whole path.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import numpy as np

import clew as torch
from clew.nn import functional as F

ROWS = 200
LEAPS, STEP = 10, 0.04  # a path of 0.4: two standard deviations; one of 2 pi would come back to where it began
TRUTH = [0.5, -1.0, 0.25, 1.5]

Gradient = Callable[[torch.Tensor], torch.Tensor]


def data(seed: int = 0) -> torch.Tensor:
    """Rows of features, each with the sign of its label: a row's margin is one product."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((ROWS, len(TRUTH)))
    labels = np.where(random.random(ROWS) < 1 / (1 + np.exp(-x @ TRUTH)), 1.0, -1.0)
    return torch.from_numpy(x * labels[:, None])


def energy(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Minus the logarithm of the posterior density, with a standard normal prior."""
    return F.softplus(-(x @ q)).sum() + 0.5 * (q * q).sum()


def gradient(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    q = q.detach().requires_grad_()
    return torch.autograd.grad(energy(x, q), q)[0]


def path(x: torch.Tensor, q: torch.Tensor, p: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The end of a path of `LEAPS` leapfrog steps (Neal 2011, figure 2), and the energy that was gained on it."""
    before = energy(x, q) + 0.5 * (p * p).sum()
    p = p - 0.5 * STEP * gradient(x, q)
    for leap in range(LEAPS):
        q = q + STEP * p
        p = p - (STEP if leap < LEAPS - 1 else 0.5 * STEP) * gradient(x, q)
    return q, p, energy(x, q) + 0.5 * (p * p).sum() - before


compiled_gradient = torch.compile(gradient)
compiled_path = torch.compile(path)


def sample(count: int = 4000, seed: int = 0) -> tuple[np.ndarray, float]:
    """Draws from the posterior, and the share of paths that were accepted."""
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    x, q, accepted = data(), torch.zeros(len(TRUTH), dtype=torch.float64), 0
    draws = np.empty((count, len(TRUTH)))
    for index in range(count):
        end, _, gained = compiled_path(x, q, torch.randn(len(TRUTH), dtype=torch.float64))
        if random.random() < math.exp(min(0.0, -gained.item())):
            q, accepted = end, accepted + 1
        draws[index] = q.numpy()
    return draws[count // 10 :], accepted / count


def laplace() -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the normal distribution that touches the posterior at its mode."""
    x = data()
    q = torch.zeros(len(TRUTH), dtype=torch.float64)
    for _ in range(20):  # Newton's method
        curvature = torch.autograd.functional.hessian(lambda q: energy(x, q), q)
        q = q - torch.linalg.solve(curvature, gradient(x, q))
    return q.numpy(), torch.linalg.inv(curvature).diagonal().sqrt().numpy()


def microseconds(call: Callable[[], object], calls: int = 300, rounds: int = 5) -> float:
    """Of one call, in the best of some rounds."""
    best = math.inf
    for _ in range(rounds):
        started = perf_counter()
        for _ in range(calls):
            call()
        best = min(best, perf_counter() - started)
    return best / calls * 1e6


def main() -> None:
    draws, accepted = sample()
    print(f"{len(draws)} draws, {accepted:.0%} accepted")
    for name, mean, deviation in (("HMC", draws.mean(0), draws.std(0)), ("Laplace", *laplace())):
        print(f"{name:8} mean {mean.round(2)}, standard deviation {deviation.round(2)}")

    x, q, p = data(), torch.zeros(len(TRUTH), dtype=torch.float64), torch.ones(len(TRUTH), dtype=torch.float64)
    eager = microseconds(lambda: gradient(x, q))
    alone = microseconds(lambda: compiled_gradient(x, q))
    whole = microseconds(lambda: compiled_path(x, q, p)) / (LEAPS + 1)
    print(f"a gradient: {eager:.1f} µs by Python, {alone:.1f} µs replayed, {whole:.1f} µs as a part of a replayed path")


if __name__ == "__main__":
    main()
