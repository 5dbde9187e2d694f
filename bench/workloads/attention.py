"""Attention of 8 batches, 8 heads, 256 places, width 64: forward and backward."""

from __future__ import annotations

import math
from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import values

SHAPE = (8, 8, 256, 64)


class Attention(Workload):
    name = "attention 8x8x256x64, forward and backward"
    compiled = True
    trains = True

    def eager(self, m: Module, jit: Jit) -> Run:
        q, k, v = (m.from_numpy(values(*SHAPE, seed=seed)).requires_grad_() for seed in range(3))
        slope = m.from_numpy(values(*SHAPE, seed=3))
        attend = jit(lambda q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v))

        def run() -> Any:
            out = attend(q, k, v)
            return [out, *m.autograd.grad(out, (q, k, v), slope)]

        return Run(run)

    def jax(self, jax: Module) -> Run:
        def attend(q: Any, k: Any, v: Any) -> Any:
            return jax.nn.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(SHAPE[-1]), axis=-1) @ v

        @jax.jit
        def both(q: Any, k: Any, v: Any, slope: Any) -> Any:
            out, back = jax.vjp(attend, q, k, v)
            return [out, *back(slope)]

        inputs = [jax.numpy.asarray(values(*SHAPE, seed=seed)) for seed in range(4)]
        return Run(lambda: both(*inputs), ready=jax.block_until_ready)


WORKLOADS = (Attention(),)
