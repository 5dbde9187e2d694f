"""Correct loops: derivatives of derivatives, and training written without an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from small_training import CORRECT_ITERATIONS, batch, correct, mse, network, step, trainer

import clew
from clew import nn


def adapt(weights: list[Any], inner_steps: int, create_graph: bool) -> list[Any]:
    for _ in range(inner_steps):
        x, y = batch()
        loss = mse(clew.tanh(x @ weights[0]) @ weights[1], y)
        slopes = clew.autograd.grad(loss, weights, create_graph=create_graph)
        weights = [weight - 0.01 * slope for weight, slope in zip(weights, slopes, strict=True)]
    return weights


def meta_learning(inner_steps: int, create_graph: bool = True) -> None:
    weights = [clew.randn(4, 8, requires_grad=True), clew.randn(8, 1, requires_grad=True)]
    optimizer = clew.optim.SGD(weights, lr=0.001)
    for _ in range(12):
        adapted = adapt(weights, inner_steps, create_graph)
        x, y = batch()
        step(optimizer, mse(clew.tanh(x @ adapted[0]) @ adapted[1], y))


@correct
def meta_learning_in_five_steps() -> None:
    meta_learning(5)


@correct
def meta_learning_in_forty_steps() -> None:
    meta_learning(40)


@correct
def meta_learning_of_first_order() -> None:
    meta_learning(30, create_graph=False)


@correct
def learning_rate_learned() -> None:
    rate = clew.full((), 0.01, requires_grad=True)
    model_weight = clew.randn(4, 1)
    for _ in range(CORRECT_ITERATIONS // 4):
        weight: Any = model_weight.requires_grad_()
        for _ in range(3):
            x, y = batch()
            (slope,) = clew.autograd.grad(mse(x @ weight, y), weight, create_graph=True)
            weight = weight - rate * slope
        x, y = batch()
        mse(x @ weight, y).backward()
        model_weight = weight.detach()
        with clew.no_grad():
            rate -= 1e-4 * rate.grad
        rate.grad = None


@correct
def unrolled_discriminator() -> None:
    generator = nn.Linear(2, 4)
    optimizer = clew.optim.SGD(generator.parameters(), lr=0.01)
    start = clew.randn(4, 1)
    for _ in range(CORRECT_ITERATIONS // 4):
        judge: Any = start.clone().requires_grad_()
        for _ in range(20):
            score = (generator(clew.randn(8, 2)) @ judge).tanh().mean()
            (slope,) = clew.autograd.grad(score, judge, create_graph=True)
            judge = judge - 0.1 * slope
        step(optimizer, -(generator(clew.randn(8, 2)) @ judge).mean())


@correct
def physics_informed() -> None:
    model, optimizer = trainer()
    residuals = []
    for _ in range(CORRECT_ITERATIONS):
        x = clew.rand(16, 4, requires_grad=True)
        (slope,) = clew.autograd.grad(model(x).sum(), x, create_graph=True)
        (bend,) = clew.autograd.grad(slope.sum(), x, create_graph=True)
        residual = (bend.sum(dim=1) + x.sum(dim=1)).square().mean()
        step(optimizer, residual)
        residuals.append(residual.detach())


@correct
def gradient_penalty() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        x.requires_grad_()
        out = model(x)
        (slope,) = clew.autograd.grad(out.sum(), x, create_graph=True)
        step(optimizer, mse(out, y) + (slope.norm(dim=1) - 1).square().mean())


@correct
def penalty_through_backward() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS // 2):
        x, y = batch()
        mse(model(x), y).backward(create_graph=True)
        sum(p.grad.square().sum() for p in model.parameters()).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


@correct
def gradients_with_graphs_that_are_dropped() -> None:
    w = clew.randn(4, requires_grad=True)
    for _ in range(CORRECT_ITERATIONS):
        x, _ = batch()
        ((x @ w) ** 2).mean().backward(create_graph=True)
        with clew.no_grad():
            w -= 0.01 * w.grad
        w.grad = None


@correct
def products_with_the_hessian() -> None:
    w = clew.randn(4, requires_grad=True)
    for _ in range(CORRECT_ITERATIONS):
        (slope,) = clew.autograd.grad((w**4).sum(), w, create_graph=True)
        direction = clew.randn(4)
        for _ in range(10):
            (product,) = clew.autograd.grad(slope, w, direction, retain_graph=True)
            direction = product / product.norm()


@correct
def conjugate_gradient_steps() -> None:
    """30 products with one Hessian, kept alive for them, in each iteration."""
    w = clew.randn(4, requires_grad=True)
    for _ in range(3):
        x, y = batch()
        (slope,) = clew.autograd.grad(mse((x @ w).tanh(), y.squeeze()), w, create_graph=True)
        basis = []
        for _ in range(30):
            (product,) = clew.autograd.grad(slope @ clew.randn(4), w, retain_graph=True)
            basis.append(product)


@correct
def functional_descent() -> None:
    weights = [clew.randn(4, 8, requires_grad=True), clew.randn(8, 1, requires_grad=True)]
    for _ in range(CORRECT_ITERATIONS):
        weights = [weight.detach().requires_grad_() for weight in adapt(weights, 1, create_graph=False)]


@correct
def descent_by_hand() -> None:
    w = clew.randn(4, 1, requires_grad=True)
    path = []
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        mse(x @ w, y).backward()
        with clew.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()
        path.append(w.detach().clone())


@correct
def implicit_layer() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        with clew.no_grad():
            fixed = clew.zeros(8, 8)
            for _ in range(20):
                fixed = (model[0](x) + 0.5 * fixed).tanh()
        step(optimizer, mse(model[2]((model[0](x) + 0.5 * fixed).tanh()), y))


@correct
def new_model_each_time() -> None:
    scores = []
    for _ in range(CORRECT_ITERATIONS // 3):
        model = network()
        optimizer = clew.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(3):
            x, y = batch()
            loss = mse(model(x), y)
            step(optimizer, loss)
        scores.append((model, loss.item()))


@correct
def ensemble_trained_side_by_side() -> None:
    models = [trainer() for _ in range(6)]
    for _ in range(CORRECT_ITERATIONS // 6):
        x, y = batch()
        predictions = [model(x) for model, _ in models]
        for prediction, (_, optimizer) in zip(predictions, models, strict=True):
            step(optimizer, mse(prediction, y))


@correct
def sampled_objectives_chosen_by_a_closure() -> None:
    w = clew.randn(4, requires_grad=True)

    def objective(shift: float) -> Callable[[], Any]:
        return lambda: (w + shift).square().sum()

    objectives = [objective(float(shift)) for shift in range(CORRECT_ITERATIONS)]
    for each in objectives:
        each().backward()
