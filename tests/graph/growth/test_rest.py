"""What grows without a backward of its own is told of when the watch ends: the line, and the variable that holds it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import nn
from clew.graph import GrowthWarning

pytestmark = pytest.mark.beyond

Told = list[tuple[str | None, int]]


def told_after(loop: Callable[[], Any]) -> Told:
    """Paths and numbers; the loop's variables are those of its frame, in which the watch ends."""
    with warnings.catch_warnings(action="ignore", category=GrowthWarning):
        watch = loop()
    assert watch.failure is None
    return [(one.path, one.iterations) for one in watch.warnings]


def test_predictions_of_an_evaluation() -> None:
    def loop() -> Any:
        model = nn.Linear(4, 2)
        with clew.graph.watch() as watch:
            predictions = [model(clew.randn(3, 4)) for _ in range(18)]
        assert len(predictions) == 18
        return watch

    assert told_after(loop) == [("predictions", 18)]


@pytest.mark.parametrize("trains", [False, True])
def test_a_running_sum(trains: bool) -> None:
    rounds = 200 if trains else 18

    def loop() -> Any:
        model, total = nn.Linear(4, 1), clew.zeros(())
        with clew.graph.watch() as watch:
            if trains:
                model(clew.randn(3, 4)).sum().backward()
            for _ in range(rounds):
                total = total + model(clew.randn(3, 4)).sum()
        assert total.requires_grad
        return watch

    assert told_after(loop) == [("total", rounds)]


def test_a_moving_average_of_gradients_with_a_graph() -> None:
    def loop() -> Any:
        w, velocity = clew.ones(3, requires_grad=True), clew.zeros(3)
        with clew.graph.watch() as watch:
            for _ in range(30):
                (gradient,) = clew.autograd.grad((w**3).sum(), w, create_graph=True)
                velocity = 0.9 * velocity + gradient
        assert velocity.requires_grad
        return watch

    assert told_after(loop) == [("velocity", 30)]


def test_gradients_with_a_graph_in_a_list() -> None:
    def loop() -> Any:
        w, norms = clew.ones(3, requires_grad=True), []
        with clew.graph.watch() as watch:
            for _ in range(30):
                (gradient,) = clew.autograd.grad((w**3).sum(), w, create_graph=True)
                norms.append(gradient.norm())
        return watch

    assert told_after(loop) == [("norms", 30)]


def test_a_chain_of_samples_that_is_not_detached() -> None:
    def loop() -> Any:
        x = clew.ones(4, requires_grad=True)
        with clew.graph.watch() as watch:
            for _ in range(200):
                (slope,) = clew.autograd.grad((x**2).sum(), x)
                x = x - 0.01 * slope + 0.1 * clew.randn(4)
        return watch

    ((path, iterations),) = told_after(loop)
    assert path == "x"
    assert iterations >= 195


def test_the_state_of_an_optimizer_that_is_learned() -> None:
    def loop() -> Any:
        cell, readout, state = nn.LSTMCell(1, 4), nn.Linear(4, 1), None
        theta = clew.randn(6).requires_grad_()
        with clew.graph.watch() as watch:
            for _ in range(200):
                (gradient,) = clew.autograd.grad((theta**2).sum(), theta)
                state = cell(gradient[:, None], state)
                theta = (theta + readout(state[0])[:, 0]).detach().requires_grad_()
        return watch

    ((path, iterations),) = told_after(loop)
    assert path in ("state", "state[0]")
    assert iterations >= 195


def evaluated_under_no_grad(model: Any) -> Any:
    with clew.no_grad():
        return [model(clew.randn(3, 4)) for _ in range(300)]


def numbers_alone(model: Any) -> Any:
    return [model(clew.randn(3, 4)).sum().item() for _ in range(300)]


def sum_of_numbers(model: Any) -> Any:
    total = 0.0
    for _ in range(300):
        total += model(clew.randn(3, 4)).sum().item()
    return total


def detached(model: Any) -> Any:
    return [model(clew.randn(3, 4)).detach() for _ in range(300)]


def outputs_of_a_recurrence(model: Any) -> Any:
    h, outputs = clew.zeros(3, 4), []
    for _ in range(300):
        h = (h + 0.1 * clew.randn(3, 4) * model.weight.sum()).tanh()
        outputs.append(h * 2)
    return outputs


def steps_of_a_differential_equation(model: Any) -> Any:
    x = clew.ones(3, 4)
    for _ in range(300):
        x = x + 0.01 * (x @ model.weight.t() @ model.weight)
    return x


def gradients_accumulated(model: Any) -> Any:
    for _ in range(300):
        (model(clew.randn(3, 4)).sum() / 4).backward()
    return model


def moving_average_of_the_weights(model: Any) -> Any:
    average = model.weight.detach().clone()
    for _ in range(300):
        model(clew.randn(3, 4)).sum().backward()
        with clew.no_grad():
            average = 0.9 * average + 0.1 * model.weight
    return average


def samples_that_are_detached(model: Any) -> Any:
    x, chain = clew.ones(4, requires_grad=True), []
    for _ in range(300):
        (slope,) = clew.autograd.grad((x**2).sum(), x)
        x = (x - 0.01 * slope).detach().requires_grad_()
        chain.append(x)
    return chain


def penalties_with_a_backward(model: Any) -> Any:
    for _ in range(300):
        x = clew.randn(3, 4, requires_grad=True)
        (slope,) = clew.autograd.grad(model(x).square().sum(), x, create_graph=True)
        slope.square().sum().backward()
    return model


QUIET = [
    *(evaluated_under_no_grad, numbers_alone, sum_of_numbers, detached, outputs_of_a_recurrence),
    *(steps_of_a_differential_equation, gradients_accumulated, moving_average_of_the_weights),
    *(samples_that_are_detached, penalties_with_a_backward),
]


@pytest.mark.parametrize("program", QUIET)
@pytest.mark.parametrize("trains", [False, True])
def test_silence(program: Callable[[Any], Any], trains: bool) -> None:
    model = nn.Linear(4, 4)
    with clew.graph.watch() as watch:
        if trains:
            model(clew.randn(3, 4)).sum().backward()
        kept = program(model)
    assert kept is not None
    assert watch.warnings == []
    assert watch.failure is None
