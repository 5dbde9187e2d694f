"""A loss that was computed after an optimizer's step and leads into the graph from before it: by which value."""

import pytest
from corpus import marked_lines

pytestmark = pytest.mark.beyond


def error_of(torch, program):
    with pytest.raises(torch.autograd.errors.InplaceError) as caught:
        program(torch)
    return caught.value, marked_lines(program)


def hidden_state(torch):
    cell = torch.nn.GRUCell(3, 5)
    optimizer, h = torch.optim.Adam(cell.parameters()), torch.zeros(2, 5)
    for x in torch.randn(4, 2, 3):
        h = cell(x, h)  # made
        h.sum().backward(retain_graph=True)
        optimizer.step()


def state_of_an_lstm(torch):
    rnn = torch.nn.LSTM(3, 5)
    optimizer, state = torch.optim.SGD(rnn.parameters(), 0.1), None
    for chunk in torch.randn(4, 6, 2, 3):
        out, state = rnn(chunk, state)  # made
        optimizer.zero_grad()
        out.pow(2).mean().backward(retain_graph=True)
        optimizer.step()


def attribute_of_a_module(torch):
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
        model(x).sum().backward(retain_graph=True)
        optimizer.step()


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


ASSIGNMENTS = {
    hidden_state: ("h", "`h = h.detach()`"),
    state_of_an_lstm: ("state", "`state = tuple(one.detach() for one in state)`"),
    attribute_of_a_module: ("self.h", "`self.h = self.h.detach()`"),
}


@pytest.mark.parametrize("program", ASSIGNMENTS)
def test_a_state_that_is_carried_over_is_to_be_detached(torch, program):
    error, lines = error_of(torch, program)
    name, assignment = ASSIGNMENTS[program]
    line = lines["made"]
    assert (error.shared_name, error.shared_at.line, error.used_at.line) == (name, line, line)
    assert str(error).endswith(
        f"To do: `{name}` was created at test_carried_over.py:{line} in an earlier iteration and carried over: detach "
        f"it in between ({assignment}), and leave retain_graph out where it was given for this"
    )


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
