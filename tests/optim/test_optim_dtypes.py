"""Optimizers on parameters of halves and of complex numbers: PyTorch's steps, and its dtypes of states."""

import numpy
import pytest

import clew

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.01, "eps": 1e-3},
    "AdamW": {"lr": 0.01, "eps": 1e-3, "amsgrad": True},
    "RMSprop": {"lr": 0.01, "eps": 1e-3, "momentum": 0.9},
    "Adagrad": {"lr": 0.1, "eps": 1e-3},
    "Adadelta": {"eps": 1e-3},
    "Adamax": {"eps": 1e-3},
    "NAdam": {"eps": 1e-3},
    "RAdam": {"eps": 1e-3},
    "ASGD": {},
    "Rprop": {},
}


def dtypes_of(state):
    return {name: str(value.dtype) for name, value in state.items() if hasattr(value, "dtype")}


def trained(module, dtype, name, options):
    """Losses, dtypes and states of a small network that learns classes."""
    generator = numpy.random.default_rng(0)
    data, labels = generator.standard_normal((32, 8)), generator.integers(0, 3, 32)
    module.manual_seed(0)
    nn = module.nn
    network = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3))
    network = network.half() if dtype == "float16" else network.bfloat16()
    optimizer = getattr(module.optim, name)(network.parameters(), **options)
    inputs, targets = module.tensor(data.tolist()).to(getattr(module, dtype)), module.tensor(labels.tolist())
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    weight = network[0].weight
    return losses, (str(loss.dtype), str(weight.grad.dtype), dtypes_of(optimizer.state[weight]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_in_halves(name, dtype, oracle):
    ours, theirs = (trained(module, dtype, name, OPTIMIZERS[name]) for module in (clew, oracle))
    assert ours[1] == theirs[1]
    numpy.testing.assert_allclose(ours[0], theirs[0], rtol=8 * clew.finfo(getattr(clew, dtype)).eps)
    assert ours[0][-1] <= ours[0][0]


def stepped(module, name, options):
    """A complex and a real parameter after some steps."""
    point = module.tensor([1 + 2j, 3 - 1j, -0.5j], requires_grad=True)
    scale = module.tensor([0.5, 1.0], requires_grad=True)
    optimizer = getattr(module.optim, name)([point, scale], **options)

    def closure():
        optimizer.zero_grad()
        loss = ((point - (1 - 1j)).abs() ** 2).sum() + ((point * scale.sum()).real ** 2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    state = dtypes_of(optimizer.state[point]) if name != "LBFGS" else None
    return point.tolist(), scale.tolist(), state, optimizer.state_dict(), optimizer


@pytest.mark.parametrize("name", [*OPTIMIZERS, "LBFGS"])
def test_complex_parameters(name, oracle):
    ours, theirs = (stepped(module, name, OPTIMIZERS.get(name, {})) for module in (clew, oracle))
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert ours[2] == theirs[2]
    ours[4].load_state_dict(ours[3])


def test_complex_parameters_in_recorded_steps():
    """`differentiable` steps a tensor that is no leaf."""
    found = []
    for recorded in (False, True):
        leaf = clew.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        point = leaf.clone() if recorded else leaf
        optimizer = clew.optim.Adam([leaf], lr=0.1, differentiable=recorded)
        if recorded:
            optimizer.param_groups[0]["params"] = [point]
        point.grad = clew.tensor([0.5 - 1j, 2j])
        for _ in range(3):
            optimizer.step()
        found.append(point.tolist())
    numpy.testing.assert_allclose(found[0], found[1], rtol=1e-6)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_what_takes_no_complex_parameters_says_so(name):
    parameter = clew.ones(2, 2, dtype=clew.complex64, requires_grad=True)
    parameter.grad = clew.ones(2, 2, dtype=clew.complex64)
    with pytest.raises(RuntimeError, match=f"{name} does not support complex parameters"):
        getattr(clew.optim, name)([parameter]).step()
