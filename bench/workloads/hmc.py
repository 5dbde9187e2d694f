"""Hamiltonian Monte Carlo on a small logistic regression: many gradients of few numbers (Neal 2011, figure 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import values

ROWS, FEATURES, LEAPS, STEP = 100, 8, 20, 0.05


def data() -> tuple[Any, Any]:
    """Features whose sign is the label's: with them the margin of a row is one product."""
    x = values(ROWS, FEATURES)
    labels = np.where(x @ values(FEATURES, seed=1) + values(ROWS, seed=2) > 0, 1, -1).astype(np.float32)
    return x * labels[:, None], values(FEATURES, seed=3)


def leapfrog(gradient: Callable[[Any], Any], q: Any, p: Any) -> Any:
    """The end of a path. One gradient a leap; the last and the first half step are joined."""
    p = p - 0.5 * STEP * gradient(q)
    for _ in range(LEAPS - 1):
        q = q + STEP * p
        p = p - STEP * gradient(q)
    q = q + STEP * p
    return q, p


def gradient_of(m: Module, jit: Jit, x: Any) -> Callable[[Any], Any]:
    softplus, grad = m.nn.functional.softplus, m.autograd.grad
    energy = jit(lambda q: softplus(-(x @ q)).sum() + 0.5 * (q * q).sum())

    def gradient(q: Any) -> Any:
        q = q.detach().requires_grad_()
        return grad(energy(q), q)[0]

    return gradient


def jax_gradient_of(jax: Module, x: Any) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = jax.grad(lambda q: jax.nn.softplus(-(x @ q)).sum() + 0.5 * (q * q).sum())
    return function


class Hmc(Workload):
    name = "HMC, logistic regression 100x8, per gradient"
    compiled = True
    count = LEAPS
    trains = True
    replayed = True

    def eager(self, m: Module, jit: Jit) -> Run:
        x, momentum = (m.from_numpy(array) for array in data())
        gradient, start = gradient_of(m, jit, x), m.zeros(FEATURES)
        return Run(lambda: leapfrog(gradient, start, momentum))

    def jax(self, jax: Module) -> Run:
        jnp = jax.numpy
        x, momentum = (jnp.asarray(array) for array in data())
        gradient = jax_gradient_of(jax, x)

        @jax.jit
        def path(q: Any, p: Any) -> Any:
            def leap(_: Any, state: Any) -> Any:
                q, p = state
                q = q + STEP * p
                return q, p - STEP * gradient(q)

            q, p = jax.lax.fori_loop(0, LEAPS - 1, leap, (q, p - 0.5 * STEP * gradient(q)))
            return q + STEP * p, p

        start = jnp.zeros(FEATURES, jnp.float32)
        return Run(lambda: path(start, momentum), ready=jax.block_until_ready)

    def numpy(self, np_: Module) -> Run:
        x, momentum = data()
        start = np_.zeros(FEATURES, np_.float32)

        def gradient(q: Any) -> Any:
            return q - x.T @ (1 / (1 + np_.exp(x @ q)))

        return Run(lambda: leapfrog(gradient, start, momentum))

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp

        x, momentum = data()
        gradient = autograd.grad(lambda q: anp.sum(anp.logaddexp(0, -anp.dot(x, q))) + 0.5 * anp.sum(q * q))
        start = np.zeros(FEATURES, np.float32)
        return Run(lambda: leapfrog(gradient, start, momentum))


class Gradient(Workload):
    """One gradient, called from Python: what a sampler does that is not itself compiled."""

    name = "gradient of a logistic regression 100x8"
    group = "overhead"
    compiled = True
    replayed = True

    def eager(self, m: Module, jit: Jit) -> Run:
        x, q = (m.from_numpy(array) for array in data())
        gradient = gradient_of(m, jit, x)
        return Run(lambda: gradient(q))

    def jax(self, jax: Module) -> Run:
        x, q = (jax.numpy.asarray(array) for array in data())
        gradient = jax.jit(jax_gradient_of(jax, x))
        return Run(lambda: gradient(q), ready=jax.block_until_ready)


WORKLOADS = (Hmc(), Gradient())
