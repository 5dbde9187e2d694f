"""7 Training: the loss curve lies over PyTorch's."""

from importlib import import_module

import numpy
import pytest
from graph_support import assert_equal, values

OPTIMIZERS = {
    "SGD": lambda optim, parameters: optim.SGD(parameters, lr=0.1),
    "SGD momentum": lambda optim, parameters: optim.SGD(parameters, lr=0.05, momentum=0.9),
    "SGD nesterov": lambda optim, parameters: optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True),
    "SGD weight decay": lambda optim, parameters: optim.SGD(
        parameters, lr=0.1, weight_decay=0.01, momentum=0.5, dampening=0.1
    ),
    "Adam": lambda optim, parameters: optim.Adam(parameters, lr=0.01),
    "Adam options": lambda optim, parameters: optim.Adam(
        parameters, lr=0.01, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.01
    ),
    "Adam amsgrad": lambda optim, parameters: optim.Adam(parameters, lr=0.01, amsgrad=True),
    "AdamW": lambda optim, parameters: optim.AdamW(parameters, lr=0.01, weight_decay=0.1),
}


def mlp(nn):
    return nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 3))


def curve(module, name, steps=30):
    module.manual_seed(0)
    model = mlp(module.nn)
    optimizer = OPTIMIZERS[name](module.optim, model.parameters())
    x, labels = module.randn(32, 6), module.randint(0, 3, (32,))
    losses = []
    for _ in range(steps):
        loss = module.nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [values(parameter) for parameter in model.parameters()]


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_loss_curves_are_pytorchs(torch, oracle, name):
    (ours, our_weights), (theirs, their_weights) = curve(torch, name), curve(oracle, name)
    assert theirs[-1] < theirs[0]
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-4)
    for mine, other in zip(our_weights, their_weights, strict=True):
        numpy.testing.assert_allclose(mine, other, rtol=2e-3, atol=2e-4)


def test_a_curve_with_dropout_embedding_norm_and_lstm(torch, oracle):
    def run(module):
        nn = module.nn
        module.manual_seed(1)
        embed, cell, norm, head = nn.Embedding(11, 8), nn.LSTMCell(8, 12), nn.LayerNorm(12), nn.Linear(12, 11)
        parts = nn.ModuleList([embed, cell, norm, head])
        optimizer = module.optim.Adam(parts.parameters(), lr=0.01)
        tokens = module.randint(0, 11, (6, 9))
        losses = []
        for _ in range(10):
            hidden = module.zeros(6, 12), module.zeros(6, 12)
            loss = 0
            for step in range(8):
                hidden = cell(embed(tokens[:, step]), hidden)
                loss = loss + nn.functional.cross_entropy(head(norm(hidden[0])), tokens[:, step + 1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    ours, theirs = run(torch), run(oracle)
    assert theirs[-1] < theirs[0]
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_a_curve_with_dropout(torch, oracle):
    """Drawn as 0 and 1 from uniforms, on any processor (see the random numbers)."""

    def run(module, drop):
        module.manual_seed(2)
        first, second = module.nn.Linear(6, 30), module.nn.Linear(30, 1)
        optimizer = module.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)
        x, y = module.randn(16, 6), module.randn(16, 1)
        losses = []
        for _ in range(10):
            loss = module.nn.functional.mse_loss(second(drop(module, first(x).relu())), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def by_hand(module, hidden):
        return hidden * (module.rand(tuple(hidden.shape), dtype=module.float64) < 0.75).float() / 0.75

    ours = run(torch, lambda module, hidden: module.nn.functional.dropout(hidden, 0.25))
    numpy.testing.assert_allclose(ours, run(oracle, by_hand), rtol=1e-4)


def test_zero_grad_forward_backward_step(torch):
    """One step by hand: w - lr * dloss/dw, for a line through known points."""
    model = torch.nn.Linear(1, 1)
    with torch.no_grad():
        model.weight.fill_(2.0)
        model.bias.fill_(1.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [1.0]])
    optimizer.zero_grad()
    assert model.weight.grad is None
    loss = ((model(x) - y) ** 2).sum()
    assert loss.item() == 2.0**2 + 4.0**2
    loss.backward()
    assert_equal(model.weight.grad, [[2 * 2 * 1 + 2 * 4 * 2]])
    assert_equal(model.bias.grad, [2 * 2 + 2 * 4])
    optimizer.step()
    numpy.testing.assert_allclose(values(model.weight), [[2 - 0.1 * 20]], atol=1e-6)
    numpy.testing.assert_allclose(values(model.bias), [1 - 0.1 * 12], atol=1e-6)
    optimizer.zero_grad()
    assert model.weight.grad is None


def test_zero_grad_may_keep_the_gradients_memory(torch):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w * 3).sum().backward()
    gradient = w.grad
    optimizer.zero_grad(set_to_none=False)
    assert w.grad is gradient
    assert_equal(gradient, [0, 0])


def test_a_step_keeps_leaves_leaves_and_counts_as_a_write(torch):
    w = torch.ones(2, requires_grad=True)
    for make in (lambda: torch.optim.SGD([w], lr=0.1), lambda: torch.optim.Adam([w]), lambda: torch.optim.AdamW([w])):
        optimizer = make()
        version, pointer = w._version, w.data_ptr()
        w.grad = torch.ones(2)
        optimizer.step()
        assert (w.is_leaf, w.requires_grad, w.grad_fn) == (True, True, None)
        assert w._version > version
        assert w.data_ptr() == pointer


def test_batches_are_shuffled_as_pytorch_shuffles(torch, oracle):
    found = []
    for module in (torch, oracle):
        data = import_module(module.__name__ + ".utils.data")
        module.manual_seed(4)
        dataset = data.TensorDataset(module.arange(20.0).reshape(10, 2), module.arange(10))
        loader = data.DataLoader(dataset, batch_size=3, shuffle=True)
        found.append([(x.tolist(), y.tolist()) for _ in range(2) for x, y in loader])
    assert found[0] == found[1]


def test_state_dicts_go_from_pytorch_to_clew_and_back(torch, oracle):
    theirs = mlp(oracle.nn)
    ours = mlp(torch.nn)
    ours.load_state_dict({key: torch.tensor(value.tolist()) for key, value in theirs.state_dict().items()})
    x = oracle.randn(5, 6)
    numpy.testing.assert_allclose(values(ours(torch.tensor(x.tolist()))), values(theirs(x)), rtol=1e-5, atol=1e-6)


def test_memory_of_a_training_loop_is_flat(torch, on_oracle):
    if on_oracle:
        pytest.skip("asks the allocator")
    torch.manual_seed(0)
    model = mlp(torch.nn)
    optimizer = torch.optim.Adam(model.parameters())
    x, labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
    levels = set()
    for step in range(200):
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step >= 2:
            levels.add(torch.memory.stats().live)
    assert len(levels) == 1
