"""Correct loops: graphs that reach over time, are cut, grow within an iteration, or are run again."""

from __future__ import annotations

from typing import Any

from small_training import CORRECT_ITERATIONS, batch, correct, mse, step, trainer

import clew
from clew import nn
from clew.utils.checkpoint import checkpoint


def recurrent() -> tuple[Any, Any, Any]:
    cell, head = nn.RNNCell(4, 8), nn.Linear(8, 1)
    return cell, head, clew.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)


@correct
def hidden_state_detached() -> None:
    cell, head, optimizer = recurrent()
    hidden = clew.zeros(8, 8)
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        hidden = cell(x, hidden.detach())
        step(optimizer, mse(head(hidden), y))


@correct
def lstm_state_repackaged() -> None:
    cell, head = nn.LSTMCell(4, 8), nn.Linear(8, 1)
    optimizer = clew.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    state: Any = None
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        state = cell(x, state)
        step(optimizer, mse(head(state[0]), y))
        state = tuple(part.detach() for part in state)


@correct
def state_kept_in_the_module() -> None:
    class Remembering(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.hidden = nn.GRUCell(4, 8), clew.zeros(8, 8)

        def forward(self, x: Any) -> Any:
            self.hidden = self.cell(x, self.hidden.detach())
            return self.hidden

    model = Remembering()
    optimizer = clew.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(CORRECT_ITERATIONS):
        step(optimizer, model(batch()[0]).square().mean())


@correct
def truncated_backpropagation_in_windows() -> None:
    cell, head, optimizer = recurrent()
    hidden = clew.zeros(8, 8)
    for _ in range(CORRECT_ITERATIONS // 5):
        hidden = hidden.detach()
        loss = clew.zeros(())
        for _ in range(35):
            x, y = batch()
            hidden = cell(x, hidden)
            loss = loss + mse(head(hidden), y)
        step(optimizer, loss)


@correct
def window_run_at_each_step() -> None:
    cell, head, _ = recurrent()
    hidden = clew.zeros(8, 8)
    for number in range(CORRECT_ITERATIONS):
        x, y = batch()
        if number % 10 == 0:
            hidden = hidden.detach()
        hidden = cell(x, hidden)
        mse(head(hidden), y).backward(retain_graph=True)


@correct
def states_of_a_sliding_window() -> None:
    """Each state is detached from the one before; those of the last eight steps are joined by hand."""
    cell, head, _ = recurrent()
    states = [(clew.zeros(8, 8), clew.zeros(8, 8))]
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        before = states[-1][1].detach().requires_grad_()
        after = cell(x, before)
        states = [*states[-7:], (before, after)]
        mse(head(after), y).backward(retain_graph=True)
        for (_, earlier), (later, _) in zip(states[-2::-1], states[:0:-1], strict=False):
            if later.grad is None or not earlier.requires_grad:
                break
            earlier.backward(later.grad, retain_graph=True)


@correct
def curriculum_of_longer_sequences() -> None:
    cell, head, optimizer = recurrent()
    for length in range(1, CORRECT_ITERATIONS + 1):
        hidden = clew.zeros(8, 8)
        for _ in range(length):
            x, y = batch()
            hidden = cell(x, hidden)
        step(optimizer, mse(head(hidden), y))


@correct
def deeper_each_time() -> None:
    layers = nn.ModuleList([nn.Linear(4, 4)])
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        for layer in layers:
            x = layer(x).tanh()
        (x.sum(dim=1, keepdim=True) - y).square().mean().backward()
        layers.append(nn.Linear(4, 4))


@correct
def sequences_of_random_length() -> None:
    cell, head, optimizer = recurrent()
    for _ in range(CORRECT_ITERATIONS):
        hidden = clew.zeros(8, 8)
        for _ in range(int(clew.randint(1, 30, ()).item())):
            x, y = batch()
            hidden = cell(x, hidden)
        step(optimizer, mse(head(hidden), y))


@correct
def unrolled_simulation() -> None:
    force = nn.Linear(4, 4)
    optimizer = clew.optim.SGD(force.parameters(), lr=0.001)
    for _ in range(CORRECT_ITERATIONS):
        position, path = batch()[0], []
        for _ in range(25):
            position = position + 0.05 * force(position).tanh()
            path.append(position)
        step(optimizer, clew.stack(path).square().mean())


@correct
def one_graph_run_many_times() -> None:
    w = clew.randn(4, requires_grad=True)
    loss = (w * w).exp().sum()
    for _ in range(CORRECT_ITERATIONS):
        loss.backward(retain_graph=True)


@correct
def rows_of_a_jacobian() -> None:
    x = clew.randn(CORRECT_ITERATIONS, requires_grad=True)
    y = (x * x).cumsum(dim=0)
    rows = [clew.autograd.grad(value, x, retain_graph=True)[0] for value in y]
    assert len(rows) == CORRECT_ITERATIONS


@correct
def features_computed_once() -> None:
    """A frozen trunk's output without history, used in every iteration."""
    trunk, (model, optimizer) = nn.Linear(4, 4), trainer()
    x, y = batch()
    with clew.no_grad():
        features = trunk(x)
    for _ in range(CORRECT_ITERATIONS):
        step(optimizer, mse(model(features), y))


@correct
def prior_computed_once() -> None:
    """One graph from outside the loop that all iterations run through."""
    w = clew.randn(4, requires_grad=True)
    prior = (w * w).sum()
    for _ in range(CORRECT_ITERATIONS):
        x, _ = batch()
        ((x @ w).square().mean() + prior).backward(retain_graph=True)


@correct
def checkpointed_layers() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        hidden = checkpoint(model[0], x, use_reentrant=False)
        step(optimizer, mse(checkpoint(model[2], hidden.tanh(), use_reentrant=False), y))


@correct
def reentrant_checkpoints() -> None:
    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        hidden = model[0](x)
        for _ in range(20):
            hidden = checkpoint(clew.tanh, hidden, use_reentrant=True)
        step(optimizer, mse(model[2](hidden), y))


@correct
def function_with_a_backward_inside() -> None:
    class Solved(clew.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.tanh()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            for _ in range(20):
                with clew.enable_grad():
                    again = x.detach().requires_grad_()
                    (result,) = clew.autograd.grad(again.tanh(), again, gradient)
            return result

    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        step(optimizer, mse(model[2](Solved.apply(model[0](x))), y))


@correct
def cycle_that_the_collector_frees() -> None:
    class Holder:
        def __init__(self, output: Any) -> None:
            self.output, self.me = output, self

    model, optimizer = trainer()
    for _ in range(CORRECT_ITERATIONS):
        x, y = batch()
        out = model(x)
        Holder(out)
        step(optimizer, mse(out, y))
