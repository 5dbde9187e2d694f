"""Time against the size of the graph: chains of products of 4 elements, forward and backward."""

from __future__ import annotations

from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import values
from bench.workloads.overhead import factors, link_up, operands

COMPILED_UP_TO = 1000  # XLA takes minutes for longer ones
RK4_STEPS = 100


class Chain(Workload):
    def __init__(self, links: int) -> None:
        self.links = self.count = links
        self.replayed = links == 1000
        self.group = "overhead" if links == 1000 else "graph size"
        self.name = f"chain of {links} products, forward and backward"

    def facts(self) -> dict[str, Any]:
        return {"links": self.links}

    def eager(self, m: Module, jit: Jit) -> Run:
        x, y = operands(m)
        forward = link_up(x, y, self.links)

        def run() -> Any:
            x.grad = y.grad = None
            forward().sum().backward()
            return x.grad, y.grad

        return Run(run)

    def has(self, method: str) -> bool:
        return super().has(method) and (method != "jax" or self.links <= COMPILED_UP_TO)

    def jax(self, jax: Module) -> Run:
        gradient = jax.jit(jax.grad(lambda x, y: link_up(x, y, self.links)().sum(), argnums=(0, 1)))
        x, y = map(jax.numpy.asarray, factors())
        return Run(lambda: gradient(x, y), ready=jax.block_until_ready)

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp

        gradient = autograd.grad(lambda both: anp.sum(link_up(*both, self.links)()))
        both = factors()
        return Run(lambda: gradient(both))


class RungeKutta(Workload):
    """Van der Pol's oscillator by Runge and Kutta's method; the gradient with respect to the start and to mu."""

    name = "RK4, 2 elements, 100 steps"
    group = "overhead"
    replayed = True

    def eager(self, m: Module, jit: Jit) -> Run:
        start, mu = (m.from_numpy(array).requires_grad_() for array in self._inputs())

        def run() -> Any:
            start.grad = mu.grad = None
            self._loss(m.cat, start, mu).backward()
            return start.grad, mu.grad

        return Run(run)

    def jax(self, jax: Module) -> Run:
        def loss(start: Any, mu: Any) -> Any:
            def step(state: Any, _: None) -> tuple[Any, None]:
                return self._step(jax.numpy.concatenate, state, mu), None

            state, _ = jax.lax.scan(step, start, length=RK4_STEPS)
            return (state * state).sum()

        gradient = jax.jit(jax.grad(loss, argnums=(0, 1)))
        inputs = [jax.numpy.asarray(array) for array in self._inputs()]
        return Run(lambda: gradient(*inputs), ready=jax.block_until_ready)

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp

        gradient = autograd.grad(lambda both: self._loss(anp.concatenate, *both))
        both = tuple(self._inputs())
        return Run(lambda: gradient(both))

    @staticmethod
    def _inputs() -> list[Any]:
        return [values(2), values(1, seed=1)]

    @classmethod
    def _loss(cls, concatenate: Any, state: Any, mu: Any) -> Any:
        for _ in range(RK4_STEPS):
            state = cls._step(concatenate, state, mu)
        return (state * state).sum()

    @staticmethod
    def _step(concatenate: Any, state: Any, mu: Any) -> Any:
        step = 0.05

        def slope(state: Any) -> Any:
            position, speed = state[0:1], state[1:2]
            return concatenate((speed, mu * (1.0 - position * position) * speed - position))

        k1 = slope(state)
        k2 = slope(state + 0.5 * step * k1)
        k3 = slope(state + 0.5 * step * k2)
        k4 = slope(state + step * k3)
        return state + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


WORKLOADS = (*(Chain(links) for links in (10, 100, 1000, 10_000, 100_000)), RungeKutta())
