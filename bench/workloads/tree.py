"""A recursive network: a binary tree LSTM (Tai, Socher, Manning 2015, equations 9 to 14) over trees of many shapes."""

from __future__ import annotations

from collections.abc import Callable
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


def joiner(cat: Any, tanh: Any, sigmoid: Any) -> Callable[..., tuple[Any, Any]]:
    """What makes the hidden state and the cell of a tree from those of its branches."""

    def join(weight: Any, bias: Any, left: Any, left_cell: Any, right: Any, right_cell: Any) -> tuple[Any, Any]:
        gates = weight @ cat((left, right)) + bias
        inner = sigmoid(gates[: 4 * WIDTH])
        update = tanh(gates[4 * WIDTH :])
        fresh, kept_left, kept_right, shown = (inner[part * WIDTH : (part + 1) * WIDTH] for part in range(4))
        cell = fresh * update + kept_left * left_cell + kept_right * right_cell
        return shown * tanh(cell), cell

    return join


def visit(tree: Any, parameters: Any, zero: Any, join: Callable[..., tuple[Any, Any]]) -> tuple[Any, Any]:
    """The hidden state and the cell of a tree; of a word they are its embedding and zero."""
    embedding, weight, bias, _ = parameters
    if isinstance(tree, int):
        return embedding[tree], zero
    left, right = (visit(branch, parameters, zero, join) for branch in tree)
    return join(weight, bias, *left, *right)


class TreeNetwork(Workload):
    """JAX takes no part: it would compile anew for each tree."""

    name = "tree network, another shape each step"
    count = TREES
    trains = True
    compiled = True  # what joins two branches

    def eager(self, m: Module, jit: Jit) -> Run:
        parameters = [m.from_numpy(array).requires_grad_() for array in arrays(SPEC)]
        optimizer = m.optim.SGD(parameters, lr=0.05)
        zero = m.zeros(WIDTH)
        forest = trees()

        join = jit(joiner(m.cat, m.tanh, m.sigmoid))

        def step(tree: Any) -> Any:
            optimizer.zero_grad()
            hidden, _ = visit(tree, parameters, zero, join)
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

        join = joiner(anp.concatenate, anp.tanh, sigmoid)

        def loss(parameters: Any, tree: Any) -> Any:
            hidden, _ = visit(tree, parameters, zero, join)
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


WORKLOADS = (TreeNetwork(),)
