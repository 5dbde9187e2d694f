"""The approximate GELU written out with elementary operations over 4 million elements: forward and backward."""

from __future__ import annotations

from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import values

SIZE = 4_000_000


def chain(tanh: Any, x: Any) -> Any:
    return 0.5 * x * (1.0 + tanh(0.79788456 * (x + 0.044715 * x**3)))


class GeluChain(Workload):
    name = "GELU chain, 4 million elements, forward and backward"
    compiled = True
    trains = True
    replayed = True

    def eager(self, m: Module, jit: Jit) -> Run:
        x = m.from_numpy(values(SIZE)).requires_grad_()
        forward = jit(lambda x: chain(m.tanh, x))

        def run() -> Any:
            x.grad = None
            out = forward(x)
            out.sum().backward()
            return out, x.grad

        return Run(run)

    def jax(self, jax: Module) -> Run:
        @jax.jit
        def both(x: Any) -> Any:
            out, back = jax.vjp(lambda x: chain(jax.numpy.tanh, x), x)
            return out, back(jax.numpy.ones_like(out))[0]

        x = jax.numpy.asarray(values(SIZE))
        return Run(lambda: both(x), ready=jax.block_until_ready)

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp
        import numpy as np

        x = values(SIZE)

        def run() -> Any:
            back, out = autograd.make_vjp(lambda x: chain(anp.tanh, x))(x)
            return out, back(np.ones_like(out))

        return Run(run)


WORKLOADS = (GeluChain(),)
