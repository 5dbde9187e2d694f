"""Optimizers go PyTorch's way, with all their options, over twenty steps."""

import pytest


def train(m, make_optimizer, steps=20, dtype="float32", skip=()):
    """Train a small network on fixed data; parameters and losses on the way.

    In the steps `skip` the first layer gets no gradient.
    """
    model = m.nn.Sequential(m.nn.Linear(4, 8), m.nn.Tanh(), m.nn.Linear(8, 2)).to(getattr(m, dtype))
    x = m.linspace(-1.0, 1.0, 40, dtype=getattr(m, dtype)).reshape(10, 4)
    y = m.stack([x.sum(1).sin(), x.prod(1)], 1)
    optimizer = make_optimizer(m, model)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = m.nn.functional.mse_loss(model(x), y)
        loss.backward()
        if step in skip:
            model[0].weight.grad = model[0].bias.grad = None
        optimizer.step()
        losses.append(loss)
    return losses, list(model.parameters()), states(model, optimizer)


def states(model, optimizer):
    return [
        {key: value for key, value in sorted(optimizer.state.get(parameter, {}).items()) if value is not None}
        for parameter in model.parameters()
    ]


SGD_OPTIONS = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.3},
    {"momentum": 0.9, "nesterov": True},
    {"weight_decay": 0.1},
    {"momentum": 0.8, "nesterov": True, "weight_decay": 0.05},
    {"maximize": True, "momentum": 0.5},
    {"momentum": 0.9, "foreach": True},
]
ADAM_OPTIONS = [
    {},
    {"amsgrad": True},
    {"weight_decay": 0.1},
    {"betas": (0.5, 0.9), "eps": 1e-3},
    {"amsgrad": True, "weight_decay": 0.05},
    {"maximize": True},
    {"weight_decay": 0.0},
]


@pytest.mark.parametrize("options", SGD_OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sgd(options, dtype, agree):
    # Uphill, differences in rounding grow.
    rate = 0.01 if options.get("maximize") else 0.1
    agree(lambda m: train(m, lambda m, model: m.optim.SGD(model.parameters(), lr=rate, **options), dtype=dtype))


@pytest.mark.parametrize("options", ADAM_OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adam(kind, options, dtype, agree):
    def make(m, model):
        return getattr(m.optim, kind)(model.parameters(), lr=0.02, **options)

    agree(lambda m: train(m, make, dtype=dtype), relative=2e-4, absolute=1e-4)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_parameter_without_a_gradient_waits(kind, agree):
    def make(m, model):
        options = {"momentum": 0.9, "dampening": 0.1} if kind == "SGD" else {}
        return getattr(m.optim, kind)(model.parameters(), lr=0.05, **options)

    agree(lambda m: train(m, make, skip=(0, 1, 7)), relative=1e-4, absolute=5e-5)


def test_groups_have_options_of_their_own(agree):
    def make(m, model):
        groups = [
            {"params": model[0].parameters(), "lr": 0.3, "weight_decay": 0.1},
            {"params": [model[2].weight], "momentum": 0.9},
            {"params": model[2].bias},
        ]
        return m.optim.SGD(groups, lr=0.05)

    agree(lambda m: train(m, make))


def test_the_learning_rate_may_be_a_tensor(agree):
    agree(lambda m: train(m, lambda m, model: m.optim.SGD(model.parameters(), lr=m.tensor(0.1))))


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search, agree):
    def program(m):
        model = m.nn.Sequential(m.nn.Linear(4, 6), m.nn.Tanh(), m.nn.Linear(6, 1)).double()
        x = m.linspace(-1.0, 1.0, 40, dtype=m.float64).reshape(10, 4)
        y = x.sum(1, keepdim=True).sin()
        optimizer = m.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn=search, history_size=3)
        calls = []

        def closure():
            calls.append(1)
            optimizer.zero_grad()
            loss = m.nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss

        losses = [optimizer.step(closure) for _ in range(6)]
        return losses, list(model.parameters()), len(calls)

    agree(program, relative=1e-4, absolute=1e-5)


def test_lbfgs_finds_the_minimum_of_rosenbrocks_function(torch):
    point = torch.nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.float64))
    optimizer = torch.optim.LBFGS([point], max_iter=200, tolerance_change=1e-15, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        x, y = point[0], point[1]
        loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    assert torch.allclose(point, torch.ones(2, dtype=torch.float64), atol=1e-5)


def test_parameters_that_are_not_contiguous(agree):
    def program(m):
        results = []
        for kind, options in [("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True})]:
            weight = m.nn.Parameter(m.arange(6.0).reshape(2, 3).t())
            optimizer = getattr(m.optim, kind)([weight], lr=0.1, **options)
            for _ in range(3):
                optimizer.zero_grad()
                (weight**2).sum().backward()
                optimizer.step()
            results.append(weight)
        return results

    agree(program)


def test_a_step_writes_in_place_and_counts_versions(torch):
    for kind in ("SGD", "Adam"):
        weight = torch.nn.Parameter(torch.ones(2))
        optimizer = getattr(torch.optim, kind)([weight])
        loss = (weight * weight).sum()
        loss.backward(retain_graph=True)
        alias, version = weight.detach(), weight._version
        optimizer.step()
        assert weight._version > version
        assert (alias == weight).all()
        assert weight.is_leaf
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
