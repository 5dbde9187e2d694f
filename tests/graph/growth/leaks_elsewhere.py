"""More loops like those of leaks.py: what holds is an object, a module, a closure, a hook, a gradient, a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from small_training import LEAK_ITERATIONS, batch, leak, mse, network, step, trainer

import clew
from clew import nn


class Meter:
    """The average meter that every repository has."""

    def __init__(self) -> None:
        self.total: Any = 0.0
        self.count = 0

    def update(self, value: Any) -> None:
        self.total = self.total + value  # grows
        self.count += 1


@leak("meter.total")
def metrics_object() -> None:
    model, optimizer = trainer()
    meter = Meter()
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        meter.update(loss)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
        self.seen: dict[int, Any] = {}

    def forward(self, x: Any) -> Any:
        hidden = self.body(x).tanh()  # grows
        self.seen[len(self.seen)] = hidden
        return self.head(hidden)


@leak("model.seen")
def cache_in_a_module() -> None:
    model = Network()
    optimizer = clew.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))


@leak("activations")
def hook_that_captures_outputs() -> None:
    model, optimizer = trainer()
    activations: list[Any] = []
    model[1].register_forward_hook(lambda module, inputs, output: activations.append(output))
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        prediction = model(x)  # grows
        step(optimizer, mse(prediction, y))


def remembering() -> Callable[[Any], None]:
    values = []

    def remember(value: Any) -> None:
        values.append(value)

    return remember


@leak("remember:values")
def closure() -> None:
    model, optimizer = trainer()
    remember = remembering()
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)  # grows
        step(optimizer, loss)
        remember(loss)


GLOBAL_CACHE: dict[int, Any] = {}


@leak("GLOBAL_CACHE")
def global_cache() -> None:
    model, optimizer = trainer()
    try:
        for number in range(LEAK_ITERATIONS):
            x, y = batch()
            loss = mse(model(x), y)  # grows
            step(optimizer, loss)
            GLOBAL_CACHE[number] = loss
    finally:
        GLOBAL_CACHE.clear()


class Registry:
    kept: list[Any] = []  # noqa: RUF012


@leak("Registry.kept")
def attribute_of_a_class() -> None:
    model, optimizer = trainer()
    try:
        for _ in range(LEAK_ITERATIONS):
            x, y = batch()
            loss = mse(model(x), y)  # grows
            step(optimizer, loss)
            Registry.kept.append(loss)
    finally:
        Registry.kept.clear()


@leak("w.grad")
def gradient_with_a_graph() -> None:
    w = clew.randn(4, requires_grad=True)
    for _ in range(LEAK_ITERATIONS):
        x, _ = batch()
        ((x @ w) ** 2).sum().backward(create_graph=True)  # grows


@leak("penalties")
def gradient_penalties() -> None:
    model, optimizer = trainer()
    penalties = []
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        x.requires_grad_()
        out = model(x)
        (slope,) = clew.autograd.grad(out.sum(), x, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()  # grows
        step(optimizer, mse(out, y) + penalty)
        penalties.append(penalty)


@leak("replay")
def replay_buffer_of_values() -> None:
    critic = network()
    optimizer = clew.optim.SGD(critic.parameters(), lr=0.01)
    replay = []
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        value = critic(x)  # grows
        replay.append((x, value, y))
        sampled, _, target = replay[0]
        step(optimizer, mse(critic(sampled), target))


@leak("each.history")
def callback() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.history: list[Any] = []

        def on_step_end(self, state: SimpleNamespace) -> None:
            self.history.append(state.loss)

    model, optimizer = trainer()
    callbacks = [Recorder()]
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)  # grows
        step(optimizer, loss)
        for each in callbacks:
            each.on_step_end(SimpleNamespace(loss=loss))


def training(model: Any, optimizer: Any) -> Iterator[float]:
    best: Any = None
    while True:
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        best = loss if best is None else clew.minimum(best, loss)  # grows
        yield loss.item()


@leak("best")
def local_of_a_generator() -> None:
    steps = training(*trainer())
    for _ in range(LEAK_ITERATIONS):
        next(steps)


class Scale(clew.autograd.Function):
    contexts: list[Any] = []  # noqa: RUF012

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        Scale.contexts.append(ctx)
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2


@leak("Scale.contexts")
def attribute_of_a_context() -> None:
    model, optimizer = trainer()
    try:
        for _ in range(LEAK_ITERATIONS):
            x, y = batch()
            prediction = model(x)  # grows
            step(optimizer, mse(Scale.apply(prediction), y))
    finally:
        Scale.contexts.clear()


@leak("validation")
def evaluation_with_history() -> None:
    model, optimizer = trainer()
    validation = []
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))
        error = mse(model(x), y)  # grows
        validation.append(error)


@leak("total_norm")
def sum_of_squared_weights() -> None:
    model, optimizer = trainer()
    total_norm = clew.zeros(())
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))
        total_norm = total_norm + sum(p.square().sum() for p in model.parameters())  # grows
