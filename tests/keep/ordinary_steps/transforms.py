"""Steps by functions of functions: gradients, batches, modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew as torch
from clew import nn
from clew.nn import functional as F

from .harness import batches, case, mlp


def parameters_of(model: nn.Module) -> dict[str, Any]:
    return {name: one.detach() for name, one in model.named_parameters()}


def loss_by(model: nn.Module) -> Callable[..., Any]:
    return lambda given, x, y: F.mse_loss(torch.func.functional_call(model, given, (x,)), y)


@case
def a_module_as_a_function_of_its_parameters() -> Any:
    model = mlp(4, 8, 1)
    given = {name: one * 2 for name, one in parameters_of(model).items()}
    return (lambda x: torch.func.functional_call(model, given, (x,))), batches((5, 4)), [model, given]


@case
def a_module_with_one_parameter_replaced() -> Any:
    model, scale = mlp(4, 8, 1), torch.tensor(2.0, requires_grad=True)

    def step(x: Any) -> Any:
        given = {"0.weight": model[0].weight * scale}
        loss = torch.func.functional_call(model, given, x).square().mean()
        (gradient,) = torch.autograd.grad(loss, [scale])
        return loss.detach(), gradient

    return step, batches((5, 4)), [model, scale]


@case
def descent_by_func_grad() -> Any:
    model = mlp(4, 8, 1)
    given, loss = parameters_of(model), loss_by(model)

    def step(x: Any, y: Any) -> Any:
        gradients, value = torch.func.grad_and_value(loss)(given, x, y)
        for name, one in gradients.items():
            given[name].sub_(0.1 * one)
        return value

    return step, batches((5, 4), (5, 1)), [model, given]


@case
def descent_that_gives_new_parameters() -> Any:
    model = mlp(4, 8, 1)
    loss, start = loss_by(model), parameters_of(model)

    def step(x: Any, y: Any) -> Any:
        given = start
        for _ in range(2):
            gradients = torch.func.grad(loss)(given, x, y)
            given = {name: one - 0.1 * gradients[name] for name, one in given.items()}
        return given

    return step, batches((5, 4), (5, 1)), [model]


@case
def gradients_of_each_sample() -> Any:
    model = mlp(4, 8, 1)
    given, loss = parameters_of(model), loss_by(model)
    of_samples = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))

    def step(x: Any, y: Any) -> Any:
        gradients = of_samples(given, x, y)
        norms = torch.stack([one.flatten(1).norm(dim=1) for one in gradients.values()]).norm(dim=0)
        factor = (1.0 / norms).clamp(max=1.0)
        return {name: torch.einsum("i,i...->...", factor, one) for name, one in gradients.items()}

    return step, batches((5, 4), (5, 1)), [model]


@case
def an_ensemble_by_vmap() -> Any:
    models = [mlp(4, 8, 1) for _ in range(3)]
    stacked, buffers = torch.func.stack_module_state(models)
    call = lambda given, x: torch.func.functional_call(models[0], (given, buffers), (x,))  # noqa: E731
    return (lambda x: torch.vmap(call, in_dims=(0, None))(stacked, x).mean(0)), batches((5, 4)), [*models]


@case
def products_with_the_hessian() -> Any:
    model = mlp(4, 8, 1)
    given, loss = parameters_of(model), loss_by(model)
    direction = {name: torch.ones_like(one) for name, one in given.items()}

    def step(x: Any, y: Any) -> Any:
        gradient = lambda given: torch.func.grad(loss)(given, x, y)  # noqa: E731
        pulled = torch.func.vjp(gradient, given)[1](direction)[0]
        return pulled, torch.func.jvp(lambda given: loss(given, x, y), (given,), (direction,))[1]

    return step, batches((5, 4), (5, 1)), [model]


@case
def jacobians_of_a_residual() -> Any:
    model = mlp(2, 8, 1)

    def residual(point: Any) -> Any:
        return torch.func.hessian(lambda point: model(point).squeeze(-1))(point).diagonal(dim1=-2, dim2=-1).sum(-1)

    return (lambda x: torch.vmap(residual)(x).square().mean().detach()), batches((5, 2)), [model]


@case
def jacobians_both_ways() -> Any:
    field = lambda x: torch.sin(x) * x.sum()  # noqa: E731
    step = lambda x: (torch.func.jacrev(field)(x), torch.func.jacfwd(field)(x))  # noqa: E731
    return step, batches((3,)), []


@case
def a_linearized_function() -> Any:
    def step(x: Any, v: Any) -> Any:
        value, push = torch.func.linearize(torch.sin, x)
        return value, push(v), push(2 * v)

    return step, batches((3,), (3,)), []


@case
def a_gradient_through_a_gradient() -> Any:
    weight = torch.full((3,), 0.5, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        inner = torch.func.grad(lambda point: (weight * point**3).sum())(x)
        loss = inner.square().sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((3,)), [weight]


@case
def noise_for_each_sample() -> Any:
    noisy = torch.vmap(lambda row: row + torch.randn(4), randomness="different")
    same = torch.vmap(lambda row: row + torch.randn(4), randomness="same")
    return (lambda x: (noisy(x), same(x))), batches((5, 4)), []
