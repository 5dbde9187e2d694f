"""REINFORCE (Williams 1992) with a network that sees one observation at a time: a cart that balances a pole."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import Spec, adam, arrays, fill

STEPS = 100


class Cart:
    """A pole on a cart (Barto, Sutton, Anderson 1983, with Gym's constants). It stands up again when it has fallen."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.stand_up()

    def stand_up(self) -> None:
        self.x, self.speed, self.angle, self.turning = self.rng.uniform(-0.05, 0.05, 4).tolist()

    def observation(self) -> Any:
        return np.array([[self.x, self.speed, self.angle, self.turning]], np.float32)

    def step(self, pushes_right: bool) -> float:
        """Push for 0.02 s. The reward: 1, or 0 where the pole fell."""
        force = 10.0 if pushes_right else -10.0
        sine, cosine = math.sin(self.angle), math.cos(self.angle)
        pushed = (force + 0.05 * self.turning**2 * sine) / 1.1
        turn = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        self.x += 0.02 * self.speed
        self.speed += 0.02 * (pushed - 0.05 * turn * cosine / 1.1)
        self.angle += 0.02 * self.turning
        self.turning += 0.02 * turn
        if abs(self.x) > 2.4 or abs(self.angle) > 0.2095:
            self.stand_up()
            return 0.0
        return 1.0


def returns_of(rewards: list[float]) -> list[float]:
    """Discounted sums of what follows each step, centred and scaled."""
    total, sums = 0.0, []
    for reward in reversed(rewards):
        total = reward + 0.97 * total
        sums.append(total)
    sums.reverse()
    centred = np.array(sums) - np.mean(sums)
    return list(centred / (centred.std() + 1e-6))


SPEC: Spec = {"0.weight": (32, 4), "0.bias": (32,), "2.weight": (2, 32), "2.bias": (2,)}


def episode(seed: int, logs_of: Callable[[Any], Any], number: Callable[[Any], float]) -> tuple[list[Any], list[float]]:
    """The logarithms of the chosen actions' probabilities, and the returns. 100 steps whatever the policy does."""
    cart, dice = Cart(seed), np.random.default_rng(seed + 1)
    chosen, rewards = [], []
    for _ in range(STEPS):
        logs = logs_of(cart.observation())
        action = int(dice.random() < math.exp(number(logs[1])))
        chosen.append(logs[action])
        rewards.append(cart.step(action == 1))
    return chosen, returns_of(rewards)


class PolicyGradient(Workload):
    """JAX takes no part: compiled, it would collect the episode first and go through it again as one batch.

    The cart is not clew's, nor what the policy draws, so clew.compile is put around the policy alone.
    """

    name = "policy gradient, batch 1, episode of 100 steps"
    compiled = True
    replayed = True
    replayed_inside = True
    trains = True
    tolerance = 10

    def eager(self, m: Module, jit: Jit) -> Run:
        model = m.nn.Sequential(m.nn.Linear(4, 32), m.nn.Tanh(), m.nn.Linear(32, 2))
        fill(m, model)
        optimizer = m.optim.Adam(model.parameters(), lr=1e-3)
        act = jit(lambda seen: model(seen).log_softmax(1)[0])

        def step(seed: int = 0) -> Any:
            chosen, returns = episode(seed, lambda seen: act(m.from_numpy(seen)), lambda log: log.item())
            loss = -(m.stack(chosen) * m.tensor(returns, dtype=m.float32)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return Run(step, check=lambda: [step(seed) for seed in range(3)])

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp
        from autograd.tracer import getval

        begin, apply = adam(1e-3)
        parameters = arrays(SPEC)
        moments = begin(np, parameters)

        def loss(parameters: Any, seed: int) -> Any:
            def logs_of(seen: Any) -> Any:
                hidden = anp.tanh(anp.dot(seen, parameters[0].T) + parameters[1])
                scores = (anp.dot(hidden, parameters[2].T) + parameters[3])[0]
                return scores - anp.logaddexp(scores[0], scores[1])

            chosen, returns = episode(seed, logs_of, getval)
            return -anp.sum(anp.stack(chosen) * np.array(returns, np.float32))

        both = autograd.value_and_grad(loss)

        def step(seed: int = 0) -> Any:
            nonlocal parameters, moments
            value, gradients = both(parameters, seed)
            parameters, moments = apply(np, parameters, gradients, moments)
            return value

        return Run(step, check=lambda: [step(seed) for seed in range(3)])


WORKLOADS = (PolicyGradient(),)
