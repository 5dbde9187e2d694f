"""Correct loops: training as in every tutorial, and what people keep between its steps without harm."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

from small_training import CORRECT_ITERATIONS, batch, correct, mse, network, step, trainer

import clew
from clew import nn


@correct
def plain() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))


@correct
def sum_of_numbers() -> None:
    model, optimizer = trainer()
    running_loss = 0.0
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        running_loss += loss.item()


@correct
def list_of_detached_losses() -> None:
    model, optimizer = trainer()
    losses = []
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        losses.append(loss.detach())
    assert not clew.stack(losses).requires_grad


@correct
def list_cleared_each_epoch() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS // 12):
        losses = []
        for _ in range(12):
            x, y = batch()
            loss = mse(model(x), y)
            step(optimizer, loss)
            losses.append(loss)


@correct
def window_of_ten_losses() -> None:
    model, optimizer = trainer()
    recent: deque[Any] = deque(maxlen=10)
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        recent.append(loss)


@correct
def best_loss_so_far() -> None:
    model, optimizer = trainer()
    best: Any = None
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        if best is None or loss < best:
            best = loss


@correct
def gradient_accumulation() -> None:
    model, optimizer = trainer()
    for number in range(CORRECT_ITERATIONS):
        x, y = batch()
        (mse(model(x), y) / 8).backward()
        if number % 8 == 7:
            optimizer.step()
            optimizer.zero_grad()


@correct
def losses_of_micro_batches_summed() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS // 2):
        total = clew.zeros(())
        for _ in range(24):
            x, y = batch(2)
            total = total + mse(model(x), y)
        step(optimizer, total / 24)


@correct
def moving_average_of_weights() -> None:
    model, optimizer = trainer()
    average = copy.deepcopy(model)
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))
        with clew.no_grad():
            for mean, weight in zip(average.parameters(), model.parameters(), strict=True):
                mean.mul_(0.9).add_(weight, alpha=0.1)


@correct
def moving_average_of_detached_activations() -> None:
    model, optimizer = trainer()
    average = clew.zeros(8)
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        hidden = model[0](x)
        average = 0.9 * average + 0.1 * hidden.detach().mean(dim=0)
        step(optimizer, mse(model[2](hidden.tanh()), y))


@correct
def loss_relative_to_a_moving_average() -> None:
    model, optimizer = trainer()
    scale = clew.ones(())
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)
        scale = 0.9 * scale + 0.1 * loss.detach()
        step(optimizer, loss / scale)


@correct
def evaluation_without_history() -> None:
    model, optimizer = trainer()
    validation = []
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))
        with clew.no_grad():
            validation.append(mse(model(x), y))


@correct
def evaluation_by_set_grad_enabled() -> None:
    model, optimizer = trainer()
    history: dict[str, list[Any]] = {"train": [], "validation": []}
    for _ in range(CORRECT_ITERATIONS // 2):
        for phase in ("train", "validation"):
            with clew.set_grad_enabled(phase == "train"):
                x, y = batch()
                loss = mse(model(x), y)
                if phase == "train":
                    step(optimizer, loss)
            history[phase].append(loss.detach())


@correct
def inference_mode_outputs() -> None:
    model, optimizer = trainer()
    outputs = []
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))
        with clew.inference_mode():
            outputs.append(model(x))


@correct
def early_stopping_keeps_the_best_weights() -> None:
    model, optimizer = trainer()
    best, weights, snapshots = float("inf"), {}, []
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        snapshots.append({name: value.clone() for name, value in model.state_dict().items()})
        if loss.item() < best:
            best, weights = loss.item(), copy.deepcopy(model.state_dict())
    assert weights


@correct
def lbfgs_closure() -> None:
    model = network()
    optimizer = clew.optim.LBFGS(model.parameters(), lr=0.1, max_iter=10, history_size=30)
    x, y = batch()
    losses = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = mse(model(x), y)
        loss.backward()
        return loss

    for _ in range(12):
        losses.append(optimizer.step(closure).item())


@correct
def several_losses() -> None:
    trunk, heads = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 1) for _ in range(5)])
    optimizer = clew.optim.Adam([*trunk.parameters(), *heads.parameters()])
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        hidden = trunk(x).tanh()
        losses = [mse(head(hidden), y) for head in heads]
        step(optimizer, sum(losses))


@correct
def losses_run_one_by_one_on_a_shared_trunk() -> None:
    trunk, heads = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 1) for _ in range(3)])
    optimizer = clew.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.01)
    for _ in range(CORRECT_ITERATIONS // 3):
        x, y = batch()
        hidden = trunk(x).tanh()
        optimizer.zero_grad()
        for head in heads:
            mse(head(hidden), y).backward(retain_graph=True)
        optimizer.step()


@correct
def many_tasks_compared_before_their_sum() -> None:
    """The gradient of each task alone, then that of all: 30 graphs wait for the sum."""
    trunk, heads = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 1) for _ in range(30)])
    optimizer = clew.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.001)
    for _ in range(3):
        x, y = batch()
        hidden = trunk(x).tanh()
        losses, norms = [], []
        for head in heads:
            loss = mse(head(hidden), y)
            (gradient,) = clew.autograd.grad(loss, trunk.weight, retain_graph=True)
            norms.append(gradient.norm())
            losses.append(loss)
        step(optimizer, sum(loss / norm for loss, norm in zip(losses, norms, strict=True)))


@correct
def hook_that_keeps_detached_outputs() -> None:
    model, optimizer = trainer()
    activations: list[Any] = []
    model[1].register_forward_hook(lambda module, inputs, output: activations.append(output.detach()))
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))


@correct
def hook_that_keeps_the_last_outputs() -> None:
    model, optimizer = trainer()
    activations: dict[str, Any] = {}
    for name, module in model.named_modules():
        module.register_forward_hook(lambda module, inputs, output, name=name: activations.update({name: output}))
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))


@correct
def gradients_kept() -> None:
    model, optimizer = trainer()
    norms, gradients = [], []
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model(x), y))
        gradients.append([p.grad.clone() for p in model.parameters()])
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
