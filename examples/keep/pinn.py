"""A physics-informed network for the heat equation, trained by L-BFGS; loss and gradient are recorded once.

    python examples/keep/pinn.py     # needs nothing but clew; a second

L-BFGS looks at the loss to decide how far it goes and when it stops, so it runs as Python. What it calls again and
again, the loss with its second derivatives and its gradient, is `@torch.compile`d. Prints the error beside the exact
solution, and the median time of an evaluation, as Python runs it and compiled. The losses are the same to the bit.
"""

from __future__ import annotations

import math
from statistics import median
from time import perf_counter

import clew as torch
from clew import nn

DIFFUSIVITY = 0.1


def exact(points: torch.Tensor) -> torch.Tensor:
    """The solution of u_t = DIFFUSIVITY u_xx that is sin(pi x) at t = 0, and 0 at x = 0 and x = 1."""
    x, t = points.unbind(1)
    return (-DIFFUSIVITY * math.pi**2 * t).exp() * (math.pi * x).sin()


def grid(n: int) -> torch.Tensor:
    """n times n points of x and t from 0 to 1."""
    line = torch.linspace(0, 1, n, dtype=torch.float64)
    return torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)


class Solution(nn.Module):
    """Start and borders are right whatever the weights are: sin(pi x) + t x (1 - x) network(x, t)."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        torch.manual_seed(0)
        layers = nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        self.network = nn.Sequential(*layers).double()

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        x, t = points.unbind(1)
        return (math.pi * x).sin() + t * x * (1 - x) * self.network(points)[:, 0]


def residual(solution: Solution, points: torch.Tensor) -> torch.Tensor:
    """What is left of u_t - DIFFUSIVITY u_xx, at each point."""
    points = points.detach().requires_grad_()
    (slope,) = torch.autograd.grad(solution(points).sum(), points, create_graph=True)
    u_x, u_t = slope.unbind(1)
    (curvature,) = torch.autograd.grad(u_x.sum(), points, create_graph=True)
    return u_t - DIFFUSIVITY * curvature[:, 0]


def train(compiled: bool = True, steps: int = 500) -> tuple[Solution, list[float], list[float]]:
    """The trained solution, and of each evaluation the loss and the seconds that it took."""
    solution, points = Solution(), grid(10)
    losses: list[float] = []
    seconds: list[float] = []
    optimizer = torch.optim.LBFGS(solution.parameters(), max_iter=steps, line_search_fn="strong_wolfe")

    @torch.compile(disable=not compiled)
    def loss_and_gradient() -> torch.Tensor:
        optimizer.zero_grad()
        loss = residual(solution, points).square().mean()
        loss.backward()
        return loss.detach()

    def closure() -> torch.Tensor:
        started = perf_counter()
        loss = loss_and_gradient()
        seconds.append(perf_counter() - started)
        losses.append(loss.item())
        return loss

    optimizer.step(closure)
    return solution, losses, seconds


def error(solution: Solution) -> float:
    """The largest at points of which most were not trained on; the solution itself reaches 1."""
    with torch.no_grad():
        points = grid(41)
        return (solution(points) - exact(points)).abs().max().item()


def main() -> None:
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for compiled in [False, True] * 5:
        solution, losses, took = train(compiled)
        seconds[compiled] += took
    print(f"loss {losses[0]:.2g} -> {losses[-1]:.1g} in {len(losses)} evaluations; error at most {error(solution):.1e}")
    by_python, replayed = (1e6 * median(seconds[compiled]) for compiled in (False, True))
    print(f"an evaluation with its gradient: {by_python:.0f} µs by Python, {replayed:.0f} µs compiled")


if __name__ == "__main__":
    main()
