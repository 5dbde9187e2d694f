"""A long short-term memory over 50 steps: forward and backward."""

from __future__ import annotations

from typing import Any

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import Spec, arrays, fill, values

STEPS, BATCH, WIDTH = 50, 16, 128
SPEC: Spec = {
    "weight_ih": (4 * WIDTH, WIDTH),
    "weight_hh": (4 * WIDTH, WIDTH),
    "bias_ih": (4 * WIDTH,),
    "bias_hh": (4 * WIDTH,),
}


class Lstm(Workload):
    name = "LSTM, 50 steps, batch 16, hidden 128"
    trains = True
    replayed = True
    compiled = True  # one step; all 50 unrolled would compile for minutes
    tolerance = 10

    def eager(self, m: Module, jit: Jit) -> Run:
        cell = m.nn.LSTMCell(WIDTH, WIDTH)
        parameters = fill(m, cell)
        inputs = m.from_numpy(values(STEPS, BATCH, WIDTH))
        step = jit(cell)

        def run() -> Any:
            cell.zero_grad()
            state = (m.zeros(BATCH, WIDTH), m.zeros(BATCH, WIDTH))
            for x in inputs:
                state = step(x, state)
            (state[0] * state[0]).mean().backward()
            return [parameter.grad for parameter in parameters]

        return Run(run)

    def jax(self, jax: Module) -> Run:
        jnp, sigmoid = jax.numpy, jax.nn.sigmoid

        def loss(parameters: Any, inputs: Any) -> Any:
            def step(state: Any, x: Any) -> tuple[Any, None]:
                return self._cell(jnp.tanh, sigmoid, jnp.split, parameters, x, *state), None

            zeros = jnp.zeros((BATCH, WIDTH), jnp.float32)
            (hidden, _), _ = jax.lax.scan(step, (zeros, zeros), inputs)
            return (hidden * hidden).mean()

        gradient = jax.jit(jax.grad(loss))
        parameters = [jnp.asarray(array) for array in arrays(SPEC)]
        inputs = jnp.asarray(values(STEPS, BATCH, WIDTH))
        return Run(lambda: gradient(parameters, inputs), ready=jax.block_until_ready)

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp

        def sigmoid(x: Any) -> Any:
            return 0.5 * (anp.tanh(0.5 * x) + 1.0)

        def split(x: Any, parts: int, axis: int) -> list[Any]:
            return [x[:, part * WIDTH : (part + 1) * WIDTH] for part in range(parts)]

        inputs = values(STEPS, BATCH, WIDTH)

        def loss(parameters: Any) -> Any:
            state = anp.zeros((BATCH, WIDTH), "float32"), anp.zeros((BATCH, WIDTH), "float32")
            for x in inputs:
                state = self._cell(anp.tanh, sigmoid, split, parameters, x, *state)
            return anp.mean(state[0] * state[0])

        gradient = autograd.grad(loss)
        parameters = arrays(SPEC)
        return Run(lambda: gradient(parameters))

    @staticmethod
    def _cell(tanh: Any, sigmoid: Any, split: Any, parameters: Any, x: Any, hidden: Any, cell: Any) -> Any:
        weight_ih, weight_hh, bias_ih, bias_hh = parameters
        gates = x @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
        i, f, g, o = split(gates, 4, axis=1)
        cell = sigmoid(f) * cell + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(cell), cell


WORKLOADS = (Lstm(),)
