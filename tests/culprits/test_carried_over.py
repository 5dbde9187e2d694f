"""A loss that leads into the graph from before a step of training: by which value, and what to write where."""

import linecache
import types

import pytest
from corpus import marked_lines

from clew.graph.explanations.repairs import repair_of

pytestmark = pytest.mark.beyond


# Programs that carry a state from iteration to iteration. `made`: the line that makes the state. `freed`: the statement
# after which it is to be detached. `written`: the line of the step.
def hidden_state(torch, retain):
    cell = torch.nn.GRUCell(3, 5)
    optimizer, h = torch.optim.Adam(cell.parameters()), torch.zeros(2, 5)
    for x in torch.randn(4, 2, 3):
        h = cell(x, h)  # made
        h.sum().backward(retain_graph=retain)  # freed
        optimizer.step()  # written


def state_of_an_lstm(torch, retain):
    rnn = torch.nn.LSTM(3, 5)
    optimizer, state = torch.optim.SGD(rnn.parameters(), 0.1), None
    for chunk in torch.randn(4, 6, 2, 3):
        out, state = rnn(chunk, state)  # made
        optimizer.zero_grad()
        out.pow(2).mean().backward(retain_graph=retain)  # freed
        optimizer.step()  # written


def state_of_a_cell(torch, retain):
    cell = torch.nn.LSTMCell(3, 5)
    optimizer, h, c = torch.optim.RMSprop(cell.parameters()), torch.zeros(2, 5), torch.zeros(2, 5)
    for chunk in torch.randn(4, 6, 2, 3):
        loss = 0
        for x in chunk:
            h, c = cell(x, (h, c))  # made
            loss = loss + h.pow(2).sum()
        optimizer.zero_grad()
        loss.backward(retain_graph=retain)  # freed
        optimizer.step()  # written


def state_of_a_model(torch, retain):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.head = torch.nn.GRU(3, 5), torch.nn.Linear(5, 1)

        def forward(self, x, state=None):
            out, state = self.gru(x, state)  # made
            return self.head(out), state

    model = Model()
    optimizer, h = torch.optim.AdamW(model.parameters()), None
    for chunk in torch.randn(4, 6, 2, 3):
        prediction, h = model(chunk, h)
        optimizer.zero_grad()
        prediction.pow(2).mean().backward(retain_graph=retain)  # freed
        optimizer.step()  # written


def state_of_a_trainer(torch, retain):
    class Trainer:
        def __init__(self):
            self.lstm = torch.nn.LSTM(3, 5)
            self.optimizer = torch.optim.Adam(self.lstm.parameters())

        def step(self, x, state):
            out, state = self.lstm(x, state)  # made
            self.optimizer.zero_grad()
            out.pow(2).mean().backward(retain_graph=retain)
            self.optimizer.step()  # written
            return out, state

    trainer, memory = Trainer(), None
    for chunk in torch.randn(4, 6, 2, 3):
        _, memory = trainer.step(chunk, memory)  # freed


def assigned_after_the_step(torch, retain):
    cell = torch.nn.GRUCell(3, 5)
    optimizer, h = torch.optim.Adagrad(cell.parameters()), torch.zeros(2, 5)
    for x in torch.randn(4, 2, 3):
        after = cell(x, h)  # made
        after.sum().backward(retain_graph=retain)
        optimizer.step()  # written
        h = after  # freed


def attribute_of_a_module(torch, retain):
    class Stateful(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.h = torch.nn.RNNCell(3, 5), torch.zeros(2, 5)

        def forward(self, x):
            self.h = self.cell(x, self.h)  # made
            return self.h

    model = Stateful()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x in torch.randn(4, 2, 3):
        model(x).sum().backward(retain_graph=retain)  # freed
        optimizer.step()  # written


def state_kept_by_a_module(torch, retain):
    class Stateful(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head, self.state = torch.nn.LSTM(3, 5), torch.nn.Linear(5, 1), None

        def forward(self, x):
            out, self.state = self.lstm(x, self.state)  # made
            return self.head(out)

    model = Stateful()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for chunk in torch.randn(4, 6, 2, 3):
        optimizer.zero_grad()
        model(chunk).pow(2).mean().backward(retain_graph=retain)  # freed
        optimizer.step()  # written


def state_in_a_dict(torch, retain):
    cell = torch.nn.LSTMCell(3, 5)
    optimizer = torch.optim.Adamax(cell.parameters())
    state = {"h": torch.zeros(2, 5), "c": torch.zeros(2, 5)}
    for x in torch.randn(4, 2, 3):
        h, c = cell(x, (state["h"], state["c"]))  # made
        state = {"h": h, "c": c}
        optimizer.zero_grad()
        h.sum().backward(retain_graph=retain)  # freed
        optimizer.step()  # written


def step_by_hand(torch, retain):
    w, h = torch.ones(3, 3, requires_grad=True), torch.zeros(1, 3)
    for _ in range(3):
        h = torch.tanh(h @ w + 1)  # made
        h.sum().backward(retain_graph=retain)  # freed
        with torch.no_grad():
            w -= 0.1 * w.grad  # written


CARRIED = {
    hidden_state: ("h", "h = h.detach()", "optimizer.step()"),
    state_of_an_lstm: ("state", "state = tuple(one.detach() for one in state)", "optimizer.step()"),
    state_of_a_cell: ("h, c", "h, c = h.detach(), c.detach()", "optimizer.step()"),
    state_of_a_model: ("h", "h = h.detach()", "optimizer.step()"),
    state_of_a_trainer: ("memory", "memory = tuple(one.detach() for one in memory)", "self.optimizer.step()"),
    assigned_after_the_step: ("h", "h = h.detach()", "optimizer.step()"),
    attribute_of_a_module: ("model.h", "model.h = model.h.detach()", "optimizer.step()"),
    state_kept_by_a_module: (
        "model.state",
        "model.state = tuple(one.detach() for one in model.state)",
        "optimizer.step()",
    ),
    state_in_a_dict: ("state", "state = {key: one.detach() for key, one in state.items()}", "optimizer.step()"),
    step_by_hand: ("h", "h = h.detach()", None),
}


def run_repaired(torch, repair, name, retain):
    """The function as it is with the change."""
    lines = []
    for number, line in enumerate(linecache.getlines(repair.file), 1):
        lines += [f"{new}\n" for new in repair.changes[number]] if number in repair.changes else [line]
    module = types.ModuleType("repaired_module")
    exec(compile("".join(lines), "repaired_module.py", "exec"), vars(module))
    getattr(module, name)(torch, retain)


@pytest.mark.parametrize("program", CARRIED)
@pytest.mark.parametrize("retain", [False, True])
def test_a_state_that_is_carried_over_is_to_be_detached(torch, program, retain):
    errors = torch.autograd.errors
    with pytest.raises(errors.InplaceError if retain else errors.GraphFreedError) as caught:
        program(torch, retain)
    error, lines = caught.value, marked_lines(program)
    name, detach, step = CARRIED[program]
    assert (error.shared_name, error.shared_at.line) == (name, lines["made"])
    remedy = f"detach it in between (`{detach}` after test_carried_over.py:{lines['freed']})"
    text = str(error)
    assert f"To do: `{name}` w" in text
    assert "in an earlier iteration of the loop at line" in text
    assert remedy in text
    written = f"at test_carried_over.py:{lines['written']}"
    if retain:
        assert text.endswith("and leave retain_graph out where it was given for this")
        assert f"The last write to it was {f'`{step}`' if step else chr(39) + 'sub_' + chr(39)} {written}" in text
    else:
        assert f"; retain_graph=True would not help, as {step or 'sub_'} {written} has written" in text
    repair = repair_of(error)
    assert repair is not None
    assert next(line for line in repair.diff.splitlines() if line.startswith("+")).strip("+ ") == detach
    run_repaired(torch, repair, program.__name__, retain)


def encoded_once(torch):
    w, v = torch.ones(3, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w, v], 0.1)
    code = w @ w  # made
    for _ in range(3):
        (code @ v).sum().backward(retain_graph=True)  # used
        optimizer.step()


def computed_before_the_step(torch):
    w = torch.ones(3, 3, requires_grad=True)
    optimizer = torch.optim.SGD([w], 0.1)
    loss = (w @ w).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    loss.backward()


def error_of(torch, program):
    with pytest.raises(torch.autograd.errors.InplaceError) as caught:
        program(torch)
    return caught.value, marked_lines(program)


def test_a_value_from_outside_the_loop(torch):
    error, lines = error_of(torch, encoded_once)
    assert (error.shared_name, error.shared_at.line, error.used_at.line) == ("code", lines["made"], lines["used"])
    assert f"before the step and used at test_carried_over.py:{lines['used']} after it" in str(error)


def test_a_loss_from_before_the_step_shares_nothing(torch):
    error, _ = error_of(torch, computed_before_the_step)
    assert error.shared_at is None
    assert str(error).endswith(
        "To do: run every backward before the optimizer's step, or compute the loss again after it"
    )


def test_a_value_that_each_iteration_makes_is_not_carried(torch):
    """`features` has the same name in each iteration, but none uses that of another."""

    def run():
        trunk, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], 0.1)
        for _ in range(2):
            features = trunk(torch.ones(1, 2)).tanh()
            head(features).sum().backward()
            optimizer.step()
            head(features).pow(2).sum().backward()

    with pytest.raises(torch.autograd.errors.GraphFreedError) as caught:
        run()
    assert "carried over" not in caught.value.advice
    assert "is part of the freed graph" in caught.value.advice
