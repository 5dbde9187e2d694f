"""Loops that hold more and more graphs. Each marks the line that made what is held with `# grows`; it names the holder.

They are what people's loops really do; the first ones are the most frequent in issue trackers.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from small_training import LEAK_ITERATIONS, batch, leak, mse, step, trainer

import clew
from clew import nn


@leak("running_loss")
def running_loss() -> None:
    model, optimizer = trainer()
    running_loss: Any = 0.0
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)
        step(optimizer, loss)
        running_loss += loss  # grows


@leak("losses")
def list_of_losses() -> None:
    model, optimizer = trainer()
    losses = []
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)  # grows
        step(optimizer, loss)
        losses.append(loss)


@leak("hidden")
def hidden_state_not_detached() -> None:
    cell, head = nn.RNNCell(4, 8), nn.Linear(8, 1)
    optimizer = clew.optim.SGD([*head.parameters()], lr=0.01)
    hidden = clew.zeros(8, 8)
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        hidden = cell(x, hidden)  # grows
        step(optimizer, mse(head(hidden), y), retain_graph=True)


@leak("state[0]")
def lstm_state_in_a_tuple() -> None:
    cell = nn.LSTMCell(4, 8)
    state = None
    for _ in range(LEAK_ITERATIONS):
        x, _ = batch()
        state = cell(x, state)  # grows
        state[0].sum().backward(retain_graph=True)


@leak("model.average")
def moving_average_of_activations() -> None:
    model, optimizer = trainer()
    model.average = clew.zeros(8)
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        hidden = model[0](x)
        model.average = 0.9 * model.average + 0.1 * hidden.mean(dim=0)  # grows
        step(optimizer, mse(model[2](hidden.tanh()), y))


@leak("history['loss']")
def dictionary_of_lists() -> None:
    model, optimizer = trainer()
    history: dict[str, list[Any]] = defaultdict(list)
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)  # grows
        step(optimizer, loss)
        history["loss"].append(loss)
        history["rate"].append(0.01)


@leak("records")
def list_of_dictionaries() -> None:
    model, optimizer = trainer()
    records = []
    for number in range(LEAK_ITERATIONS):
        x, y = batch()
        loss = mse(model(x), y)  # grows
        step(optimizer, loss)
        records.append({"step": number, "loss": loss})


@leak("recent")
def deque_that_is_too_long() -> None:
    model, optimizer = trainer()
    recent: deque[Any] = deque(maxlen=1000)
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        error = (model(x) - y).abs().mean()  # grows
        step(optimizer, error)
        recent.appendleft(error)


@leak("outputs")
def logging_of_outputs() -> None:
    model, optimizer = trainer()
    outputs = []
    for _ in range(LEAK_ITERATIONS):
        x, y = batch()
        out = model(x)  # grows
        step(optimizer, mse(out, y))
        outputs.append(out)
