"""Steps that use more of Python: dataclasses, deques, cached properties, pure functions by NumPy, Functions, hooks."""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any

import numpy

import clew as torch
from clew import nn
from clew.nn import functional as F

from .harness import batches, case, mlp, mse, training


@dataclasses.dataclass
class Outcome:
    """What a step gives."""

    loss: Any
    accuracy: Any
    batch: int


@dataclasses.dataclass(frozen=True)
class Settings:
    """Read by steps."""

    rate: float = 0.05
    clip: float = 1.0


@case
def dataclass_of_results() -> Any:
    model = mlp(4, 8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen: list[Any] = []

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, x[:, :3].argmax(1))
        loss.backward()
        optimizer.step()
        out = Outcome(loss.detach(), (scores.argmax(1) == 0).float().mean(), len(x))
        seen.append(out)
        return out

    return step, batches((5, 4)), [model, seen]


@case
def frozen_settings() -> Any:
    settings, model = Settings(), mlp(4, 8, 1)
    parameters = list(model.parameters())

    def step(x: Any, y: Any) -> Any:
        loss = mse(model, x, y)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for one, gradient in zip(parameters, gradients, strict=True):
                one -= settings.rate * gradient.clamp(-settings.clip, settings.clip)
        return loss.item()

    return step, batches((5, 4), (5, 1)), [model]


@case
def window_of_losses() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    window: collections.deque[float] = collections.deque(maxlen=3)

    def step(x: Any, y: Any) -> None:
        optimizer.zero_grad()
        loss = mse(model, x, y)
        loss.backward()
        optimizer.step()
        window.append(loss.item())

    return step, batches((5, 4), (5, 1)), [model, window]


@case
def cached_grid() -> Any:
    class Problem:
        """Computes its grid once."""

        @functools.cached_property
        def grid(self) -> Any:
            return torch.linspace(0, 1, 5)[:, None]

    problem, model = Problem(), mlp(1, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return (
        training(model, optimizer, lambda model, x: (model(problem.grid) - x).square().mean()),
        batches((5, 1)),
        [model],
    )


@case
def pure_function_by_numpy() -> Any:
    @torch.pure
    def histogram(x: Any) -> Any:
        counts, _ = numpy.histogram(x.numpy(), bins=4, range=(-2, 2))
        return torch.from_numpy(counts.astype(numpy.float32))

    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean() * histogram(x).max()
        loss.backward()
        optimizer.step()
        return loss.item(), histogram(y)

    return step, batches((5, 4), (5, 1)), [model]


@case
def function_in_the_step() -> Any:
    class Rounded(torch.autograd.Function):
        """Straight through."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.round()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    model = mlp(4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    loss_of = lambda model, x, y: F.mse_loss(Rounded.apply(model(x) * 4) / 4, y)  # noqa: E731
    return training(model, optimizer, loss_of, "item"), batches((5, 4), (5, 1)), [model]


@case
def function_in_a_result() -> Any:
    class Reversed(torch.autograd.Function):
        """Turns the gradient around, times a factor."""

        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.factor = factor
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return -ctx.factor * grad, None

    model = mlp(4, 8, 1)
    return (lambda x: Reversed.apply(model(x), 0.5).square().sum()), batches((5, 4)), [model]


@case
def hook_on_an_activation() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(model: nn.Module, x: Any, y: Any) -> Any:
        hidden = model[1](model[0](x))
        hidden.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
        return F.mse_loss(model[2](hidden), y)

    return training(model, optimizer, loss_of, "item"), batches((5, 4), (5, 1)), [model]


@case
def rows_written_in_place() -> Any:
    model = mlp(4, 8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(model: nn.Module, x: Any) -> Any:
        y = model(x)
        y[0] = 0.0
        y[1:3, 1] *= 2
        return y.square().mean()

    return training(model, optimizer, loss_of, "item"), batches((5, 4)), [model]


@case
def rate_as_an_argument() -> Any:
    model = mlp(4, 8, 1)
    parameters = list(model.parameters())
    plain = batches((5, 4), (5, 1))

    def step(x: Any, y: Any, rate: float) -> Any:
        loss = mse(model, x, y)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for one, gradient in zip(parameters, gradients, strict=True):
                one.sub_(gradient * rate)
        return loss.item()

    return step, lambda i: (*plain(i), 0.1 / (i + 1)), [model]


@case
def scaled_by_what_was_read() -> Any:
    model = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of(model: nn.Module, x: Any, y: Any) -> Any:
        return F.mse_loss(model(x / x.abs().max().item()), y)

    return training(model, optimizer, loss_of, "item"), batches((5, 4), (5, 1)), [model]


@case
def linear_system_in_the_loss() -> Any:
    raw = torch.eye(3).requires_grad_()
    optimizer = torch.optim.SGD([raw], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        covariance = raw @ raw.T + torch.eye(3)
        factor = torch.linalg.cholesky(covariance)
        solved = torch.linalg.solve(covariance, x.T)
        loss = (x.T * solved).sum() + 2 * factor.diagonal().log().sum() + torch.linalg.slogdet(covariance)[1]
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, batches((5, 3)), [raw]


@case
def sorted_and_zipped() -> Any:
    weights = {name: torch.full((3,), 0.1 * i, requires_grad=True) for i, name in enumerate(("c", "a", "b"))}
    optimizer = torch.optim.SGD(weights.values(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        names = sorted(weights)
        parts = {name: (weights[name] * row).sum() for name, row in zip(names, x, strict=True)}
        loss = sum(part * (i + 1) for i, (_, part) in enumerate(parts.items())) ** 2
        loss.backward()
        optimizer.step()
        return {name: part.item() for name, part in parts.items()}, max(len(name) for name in names)

    return step, batches((3, 3)), list(weights.values())
