"""What is measured: each workload is written once, for any module with PyTorch's names.

A workload is made by a function that takes the module (``clew``, ``torch``; ``numpy`` where no gradient is asked for)
and returns the thing to be timed. That returns tensors, so that the modules can be compared before anyone looks at a
clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

Module = Any
Run = Callable[[], Any]

PRODUCTS = 1000
RK4_STEPS = 100
LSTM_STEPS = 50


@dataclass(frozen=True, slots=True)
class Workload:
    """``make(module)`` gives what is timed; one call of it does ``count`` times what the name says.

    ``bar`` is the smallest ratio of PyTorch's time to ours that is good enough. ``prepared``: the timed call takes what
    an untimed call has made.
    """

    name: str
    make: Callable[[Module], Run]
    count: int = 1
    bar: float | None = None
    numpy: bool = False
    prepared: bool = False
    tolerance: float = 1e-5


def _values(m: Module, *shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    values = (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)
    return values if m is np else m.from_numpy(values)


def _operands(m: Module) -> tuple[Any, Any]:
    x, y = _values(m, 4), _values(m, 4, seed=1, scale=0.01) + 1.0
    return (x, y) if m is np else (x.requires_grad_(), y.requires_grad_())


def product(m: Module) -> Run:
    x, y = _operands(m)

    def run() -> Any:
        for _ in repeat(None, PRODUCTS):
            z = x * y
        return z

    return run


def product_no_grad(m: Module) -> Run:
    multiply = product(m)
    if m is np:
        return multiply

    def run() -> Any:
        with m.no_grad():
            return multiply()

    return run


def chain(m: Module) -> Run:
    x, y = _operands(m)

    def run() -> Any:
        z = x
        for _ in repeat(None, PRODUCTS):
            z = z * y
        return z

    return run


def chain_and_backward(m: Module) -> Run:
    x, y = _operands(m)

    def run() -> Any:
        x.grad = y.grad = None
        z = x
        for _ in repeat(None, PRODUCTS):
            z = z * y
        z.sum().backward()
        return x.grad, y.grad

    return run


def free_chain(m: Module) -> Run:
    """``run.prepare()`` builds the graph, untimed; ``run(graph)`` drops the only reference to it."""
    build = chain(m)

    def run(holder: list[Any]) -> None:
        holder.clear()

    run.prepare = lambda: [build()]  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def _fill(m: Module, parameters: Iterable[Any]) -> list[Any]:
    filled = list(parameters)
    with m.no_grad():
        for seed, parameter in enumerate(filled):
            parameter.copy_(_values(m, *parameter.shape, seed=seed + 10, scale=0.3))
    return filled


def _tiny_mlp(optimizer_name: str, **settings: float) -> Callable[[Module], Run]:
    def make(m: Module) -> Run:
        model = m.nn.Sequential(m.nn.Linear(4, 16), m.nn.ReLU(), m.nn.Linear(16, 1))
        parameters = _fill(m, model.parameters())
        optimizer = getattr(m.optim, optimizer_name)(model.parameters(), **settings)
        x, y = _values(m, 8, 4), _values(m, 8, 1, seed=1)

        def run() -> Any:
            optimizer.zero_grad()
            m.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            return parameters

        return run

    return make


def lstm(m: Module) -> Run:
    cell = m.nn.LSTMCell(128, 128)
    parameters = _fill(m, cell.parameters())
    inputs = _values(m, LSTM_STEPS, 16, 128)
    with m.no_grad():
        for parameter in parameters:
            parameter.mul_(0.2)

    def run() -> Any:
        cell.zero_grad()
        state = (m.zeros(16, 128), m.zeros(16, 128))
        for x in inputs:
            state = cell(x, state)
        (state[0] * state[0]).mean().backward()
        return [parameter.grad for parameter in parameters]

    return run


def second_order(m: Module) -> Run:
    """Burgers' equation ``u_t + u u_x = 0.01 u_xx`` on 256 points: a gradient through two derivatives."""
    nn = m.nn
    layers = [nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)]
    model = nn.Sequential(*layers)
    parameters = _fill(m, model.parameters())
    points = _values(m, 256, 2).requires_grad_()
    grad = m.autograd.grad

    def run() -> Any:
        model.zero_grad()
        u = model(points)
        (slopes,) = grad(u.sum(), points, create_graph=True)
        u_x, u_t = slopes[:, 0], slopes[:, 1]
        (curvatures,) = grad(u_x.sum(), points, create_graph=True)
        residual = u_t + u[:, 0] * u_x - 0.01 * curvatures[:, 0]
        (residual * residual).mean().backward()
        return [parameter.grad for parameter in parameters]

    return run


def rk4(m: Module) -> Run:
    """Van der Pol's oscillator by Runge and Kutta's method; the gradient with respect to the start and to mu."""
    start, mu = _values(m, 2), _values(m, 1, seed=1)
    if m is not np:
        start.requires_grad_()
        mu.requires_grad_()
    concatenate = m.concatenate if m is np else m.cat
    step = 0.05

    def slope(state: Any) -> Any:
        position, speed = state[0:1], state[1:2]
        return concatenate((speed, mu * (1.0 - position * position) * speed - position))

    def run() -> Any:
        state = start
        for _ in repeat(None, RK4_STEPS):
            k1 = slope(state)
            k2 = slope(state + 0.5 * step * k1)
            k3 = slope(state + 0.5 * step * k2)
            k4 = slope(state + step * k3)
            state = state + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        if m is np:
            return state
        start.grad = mu.grad = None
        (state * state).sum().backward()
        return start.grad, mu.grad

    return run


WORKLOADS = (
    Workload("recording product, 4 elements", product, PRODUCTS, bar=8, numpy=True),
    Workload("the same under no_grad", product_no_grad, PRODUCTS, numpy=True),
    Workload("chain of 1000 products, forward, per product", chain, PRODUCTS, numpy=True),
    Workload("chain forward and backward, per product", chain_and_backward, PRODUCTS, bar=10),
    Workload("graph of 1000 nodes freed, per node", free_chain, PRODUCTS, prepared=True),
    Workload("tiny MLP step, SGD", _tiny_mlp("SGD", lr=0.01), bar=7),
    Workload("tiny MLP step, Adam", _tiny_mlp("Adam", lr=0.01), bar=7, tolerance=1e-4),
    Workload("LSTM cell, 50 steps, batch 16, hidden 128", lstm, bar=1.5, tolerance=1e-4),
    Workload("second order, MLP 2-32-32-32-1, batch 256", second_order, bar=2, tolerance=1e-4),
    Workload("RK4, 2 elements, 100 steps", rk4, bar=10, tolerance=1e-4),
)
