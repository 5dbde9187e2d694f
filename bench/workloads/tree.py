"""A recursive network: a binary tree LSTM (Tai, Socher, Manning 2015, equations 9 to 14) over trees of many shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workload import Jit, Module, Run, Workload
from bench.workloads._shared import Spec, arrays, sgd

WIDTH, WORDS, LEAVES, TREES = 32, 50, 12, 8
SPEC: Spec = {
    "embedding": (WORDS, WIDTH),
    "weight": (5 * WIDTH, 2 * WIDTH),
    "bias": (5 * WIDTH,),
    "readout": (1, WIDTH),
}


def random_tree(rng: Any, leaves: int) -> Any:
    """A word's number, or a pair of trees."""
    if leaves == 1:
        return int(rng.integers(WORDS))
    left = int(rng.integers(1, leaves))
    return random_tree(rng, left), random_tree(rng, leaves - left)


def trees() -> list[Any]:
    rng = np.random.default_rng(0)
    return [random_tree(rng, LEAVES) for _ in range(TREES)]


class TreeNetwork(Workload):
    """JAX takes no part: it would compile anew for each tree."""

    name = "tree network, another shape each step"
    count = TREES
    trains = True

    def eager(self, m: Module, jit: Jit) -> Run:
        parameters = [m.from_numpy(array).requires_grad_() for array in arrays(SPEC)]
        optimizer = m.optim.SGD(parameters, lr=0.05)
        zero = m.zeros(WIDTH)
        forest = trees()

        def step(tree: Any) -> Any:
            optimizer.zero_grad()
            hidden, _ = self._visit(tree, parameters, zero, m.cat, m.tanh, m.sigmoid)
            loss = ((parameters[3] @ hidden - 1.0) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        def run() -> list[Any]:
            return [step(tree) for tree in forest]

        return Run(run, check=run)

    def autograd(self, autograd: Module) -> Run:
        import autograd.numpy as anp

        zero = np.zeros(WIDTH, np.float32)
        forest = trees()

        def sigmoid(x: Any) -> Any:
            return 0.5 * (anp.tanh(0.5 * x) + 1.0)

        def loss(parameters: Any, tree: Any) -> Any:
            hidden, _ = self._visit(tree, parameters, zero, anp.concatenate, anp.tanh, sigmoid)
            return anp.sum((anp.dot(parameters[3], hidden) - 1.0) ** 2)

        both = autograd.value_and_grad(loss)
        _, update = sgd(0.05)
        parameters = arrays(SPEC)

        def run() -> list[Any]:
            nonlocal parameters
            losses = []
            for tree in forest:
                value, gradients = both(parameters, tree)
                parameters, _ = update(anp, parameters, gradients, [])
                losses.append(value)
            return losses

        return Run(run, check=run)

    @classmethod
    def _visit(cls, tree: Any, parameters: Any, zero: Any, cat: Any, tanh: Any, sigmoid: Any) -> tuple[Any, Any]:
        """The hidden state and the cell of a tree."""
        embedding, weight, bias, _ = parameters
        if isinstance(tree, int):
            return embedding[tree], zero
        left, left_cell = cls._visit(tree[0], parameters, zero, cat, tanh, sigmoid)
        right, right_cell = cls._visit(tree[1], parameters, zero, cat, tanh, sigmoid)
        gates = weight @ cat((left, right)) + bias
        inner = sigmoid(gates[: 4 * WIDTH])
        update = tanh(gates[4 * WIDTH :])
        cell = inner[:WIDTH] * update + inner[WIDTH : 2 * WIDTH] * left_cell + inner[2 * WIDTH : 3 * WIDTH] * right_cell
        return inner[3 * WIDTH :] * tanh(cell), cell


WORKLOADS = (TreeNetwork(),)
