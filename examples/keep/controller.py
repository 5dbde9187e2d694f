"""Predictive control in a loop of 1 ms: each tick descends the gradient of a forecast, and is replayed.

    python examples/keep/controller.py     # needs nothing but clew and NumPy; some seconds

A pendulum hangs down, and its motor is too weak to lift it: it has to swing. Every millisecond the controller forecasts
the next second under its plan of torques, takes two steps down the gradient of what that would cost, and applies the
first torque. When the pendulum stands, it gets a push. Prints how far from upright it is, and how long the ticks took
(median, 99th percentile, how many missed 1 ms), as Python runs them and compiled. The torques are the same to the bit.
"""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np

import clew as torch

GRAVITY, LIMIT = 9.81, 5.0  # over the length of the pendulum, and the largest torque: radians per second squared
AHEAD, HORIZON = 0.05, 20  # seconds of a step of the forecast, and steps
DESCENTS, RATE = 2, 1.0
TICK = 1e-3


def cost(state: torch.Tensor, plan: torch.Tensor) -> torch.Tensor:
    """Of the forecast: how far from upright (angle 0) and how fast it is, and a little for torque."""
    angle, speed = state.unbind()
    total = 0.01 * (plan * plan).sum()
    for torque in plan.unbind():
        speed = speed + AHEAD * (GRAVITY * angle.sin() + torque)
        angle = angle + AHEAD * speed
        total = total + (1 - angle.cos()) + 0.02 * speed * speed
    return total


def improved(state: torch.Tensor, plan: torch.Tensor) -> torch.Tensor:
    """The plan after some steps down the gradient."""
    for _ in range(DESCENTS):
        plan = plan.detach().requires_grad_()
        (slope,) = torch.autograd.grad(cost(state, plan), plan)
        plan = (plan - RATE * slope).clamp(-LIMIT, LIMIT)
    return plan.detach()


def moved(angle: float, speed: float, torque: float) -> tuple[float, float]:
    """The pendulum a tick later."""
    speed += TICK * (GRAVITY * math.sin(angle) + torque)
    return angle + TICK * speed, speed


def run(compiled: bool = True, ticks: int = 8000) -> tuple[np.ndarray, np.ndarray]:
    """The angle at each tick, and the seconds that the controller took for it."""
    improve = torch.compile(improved, disable=not compiled)
    angle, speed, plan = math.pi, 0.0, torch.full((HORIZON,), 0.1)
    angles, seconds = np.empty(ticks), np.empty(ticks)
    for tick in range(ticks):
        started = perf_counter()
        plan = improve(torch.tensor([angle, speed]), plan)
        torque = plan[0].item()
        seconds[tick] = perf_counter() - started
        if tick == ticks // 2:
            speed += 2.0  # a push
        angle, speed = moved(angle, speed, torque)
        angles[tick] = angle
    return angles, seconds


def from_upright(angles: np.ndarray) -> np.ndarray:
    return np.abs(np.remainder(angles + math.pi, 2 * math.pi) - math.pi)


def main() -> None:
    for name, compiled in (("by Python", False), ("compiled", True)):
        angles, seconds = run(compiled)
        median, late = 1e6 * np.quantile(seconds, [0.5, 0.99])
        missed = (seconds > TICK).sum()
        print(f"{name}: median {median:.0f} µs, 99 % within {late:.0f} µs, {missed} of {len(seconds)} ticks over 1 ms")
    print("from upright, each second:", from_upright(angles)[999::1000].round(2))


if __name__ == "__main__":
    main()
