"""Four chains of Hamiltonian Monte Carlo in worker processes, which replay a path that was recorded once.

    python examples/scaling/chains.py      # needs nothing but clew and NumPy; a few seconds

What travels to a worker is the kept program: it runs there without the functions that made it. The density is a banana,
x normal and y normal about x², whose moments are known. Printed beside them: those of all draws, how far the chains
agree (R-hat, Gelman and Rubin 1992; at 1 they do), and the draws a second with one worker and with two.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from time import perf_counter

import numpy as np

import clew as torch

CHAINS, LEAPS, STEP, SPREAD = 4, 12, 0.12, 0.5
TRUTH = {"mean": np.array([0.0, 1.0]), "deviation": np.array([1.0, math.sqrt(2 + SPREAD**2)])}


def energy(q: torch.Tensor) -> torch.Tensor:
    """Minus the logarithm of the density, but for a constant."""
    x, y = q.unbind(-1)
    return 0.5 * (x * x + ((y - x * x) / SPREAD) ** 2)


def gradient(q: torch.Tensor) -> torch.Tensor:
    q = q.detach().requires_grad_()
    return torch.autograd.grad(energy(q), q)[0]


def recorded_path() -> torch.keep.Program:
    """From a place `q` and a momentum `p` to the `end` of a path of leapfrog steps, and the energy `gained` on it."""
    start, kick = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    with torch.keep_graph() as program:
        q, p = start, kick - 0.5 * STEP * gradient(start)
        for leap in range(LEAPS):
            q = q + STEP * p
            p = p - (STEP if leap < LEAPS - 1 else 0.5 * STEP) * gradient(q)
        gained = energy(q) + 0.5 * (p * p).sum() - energy(start) - 0.5 * (kick * kick).sum()
    program.name(q=start, p=kick, end=q, gained=gained)
    return program


def chain(program: torch.keep.Program, seed: int, count: int) -> np.ndarray:
    """Draws of one chain, from a place far out; the first tenth is left out. Runs in a worker."""
    torch.set_num_threads(1)
    random = np.random.default_rng(seed)
    draws = np.empty((count, 2))
    program["q"].copy_(torch.from_numpy(random.uniform(-2, 2, 2)))
    for index in range(count):
        program["p"].copy_(torch.from_numpy(random.standard_normal(2)))
        program.run()
        if random.random() < math.exp(min(0.0, -program["gained"].item())):
            program["q"].copy_(program["end"])
        draws[index] = program["q"].numpy()
    return draws[count // 10 :]


def sample(count: int, workers: int) -> np.ndarray:
    """Draws of all chains: (chains, draws, 2)."""
    program = recorded_path()
    with ProcessPoolExecutor(workers) as pool:
        chains = pool.map(chain, [program] * CHAINS, range(CHAINS), [count] * CHAINS)
        return np.stack(list(chains))


def r_hat(draws: np.ndarray) -> np.ndarray:
    """The deviation of all draws over that within the chains."""
    length = draws.shape[1]
    within, between = draws.var(1, ddof=1).mean(0), draws.mean(1).var(0, ddof=1)
    return np.sqrt((length - 1) / length + between / within)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=5000, help="of each chain")
    count = parser.parse_args().draws
    for workers in (1, 2):
        started = perf_counter()
        draws = sample(count, workers)
        print(f"{workers} workers: {CHAINS * count / (perf_counter() - started):,.0f} draws a second")
    print(f"R-hat        {r_hat(draws).round(3)}")
    print(f"means        {draws.mean((0, 1)).round(2)}, truly {TRUTH['mean'].round(2)}")
    print(f"deviations   {draws.std((0, 1)).round(2)}, truly {TRUTH['deviation'].round(2)}")


if __name__ == "__main__":
    main()
