"""Optimizers go PyTorch's way, with all their options, over twenty steps."""

import numpy
import pytest

import clew


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


COMPOSED = [
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"alpha": 0.5, "maximize": True, "foreach": False}),
    ("Adadelta", {}),
    ("Adadelta", {"rho": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"betas": (0.5, 0.9), "weight_decay": 0.1}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "momentum_decay": 0.1, "maximize": True}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.02}),
    ("RAdam", {"betas": (0.5, 0.6), "weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"t0": 5, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.3, "beta2_decay": -0.5, "eps": (1e-5, 1e-2), "d": 2.0, "weight_decay": 0.1}),
]


@pytest.mark.parametrize(("kind", "options"), COMPOSED, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_others(kind, options, dtype, agree):
    def make(m, model):
        return getattr(m.optim, kind)(model.parameters(), **options)

    agree(lambda m: train(m, make, dtype=dtype, skip=(3, 4)), relative=5e-4, absolute=1e-4)


MUON_OPTIONS = [
    {},
    {"lr": 0.02, "nesterov": False, "momentum": 0.8, "weight_decay": 0.0},
    {"lr": 0.02, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3},
    {"adjust_lr_fn": "original", "ns_coefficients": (2.0, -1.5, 0.5), "eps": 1e-3},
]


@pytest.mark.parametrize("options", MUON_OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_muon(options, dtype, agree):
    """Of matrices, broad and tall. Where sums of products differ in their last bits, bfloat16 may differ in its own."""

    def make(m, model):
        return m.optim.Muon([parameter for parameter in model.parameters() if parameter.dim() == 2], **options)

    agree(lambda m: train(m, make, dtype=dtype, skip=(3, 4)), relative=2e-3, absolute=2e-4)


def test_muons_steps_have_singular_values_near_one(torch):
    """The polynomial takes singular values between 0.01 and 1 to between 0.68 and 1.13 (its author's figures)."""
    weight = torch.zeros(30, 20, requires_grad=True)
    optimizer = torch.optim.Muon([weight], lr=1.0, weight_decay=0.0, momentum=0.0, nesterov=False)
    torch.manual_seed(0)
    weight.grad = torch.randn(30, 20)
    optimizer.step()
    values = torch.linalg.svd(weight.detach() / (30 / 20) ** 0.5)[1]
    assert 0.65 < values.min() < values.max() < 1.2


DIFFERENTIABLE = [
    ("SGD", {"weight_decay": 0.1}),
    ("Adam", {"weight_decay": 0.1}),
    ("Adam", {"amsgrad": True, "maximize": True}),
    ("AdamW", {}),
    *[(kind, options) for kind, options in COMPOSED if kind != "Adafactor"],
]
# Rprop's steps are signs: nothing to difference.
SMOOTH = [
    *[(kind, options) for kind, options in DIFFERENTIABLE if kind != "Rprop"],
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "dampening": 0.5, "maximize": True}),
]


def loss_after_steps(m, kind, options, start, scale, steps):
    """The loss after some steps that are recorded, each along a gradient that is."""
    weight = start.clone()
    optimizer = getattr(m.optim, kind)([weight.detach().requires_grad_()], **options, differentiable=True)
    optimizer.param_groups[0]["params"] = [weight]
    for _ in range(steps):
        before = weight.clone()
        (gradient,) = m.autograd.grad((scale * before**3).sum(), before, create_graph=True)
        weight.retain_grad()
        weight.grad = gradient
        optimizer.step()
        optimizer.param_groups[0]["params"] = [weight]
    return (weight**2).sum()


def starting_point(m):
    return [m.tensor(values, dtype=m.float64, requires_grad=True) for values in ([0.3, -1.2, 2.0], [1.0, 0.5, 2.0])]


@pytest.mark.parametrize(("kind", "options"), DIFFERENTIABLE, ids=str)
def test_derivatives_go_through_a_step(kind, options, agree):
    """To the starting point and to what the gradient depends on, through the step and the second derivative."""

    def program(m):
        start, scale = starting_point(m)
        loss = loss_after_steps(m, kind, options, start, scale, steps=1)
        return loss, *m.autograd.grad(loss, [start, scale], allow_unused=True)

    agree(program, relative=1e-6, absolute=1e-9)


# (PyTorch cuts the first momentum from its history, and in a second step overwrites what the first has saved.)
@pytest.mark.beyond
@pytest.mark.parametrize(("kind", "options"), SMOOTH, ids=str)
def test_derivatives_through_several_steps_are_right(kind, options, torch):
    assert torch.autograd.gradcheck(
        lambda start, scale: loss_after_steps(torch, kind, options, start, scale, steps=2), starting_point(torch)
    )


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "NAdam", "RAdam", "SGD"])
def test_derivatives_go_to_the_options(kind, agree):
    def program(m):
        numbers = {"lr": 0.1} if kind not in ("Adam", "AdamW") else {"lr": 0.1, "beta1": 0.9, "beta2": 0.99}
        options = {name: m.tensor(value, dtype=m.float64, requires_grad=True) for name, value in numbers.items()}
        given = {"lr": options["lr"]} if len(options) == 1 else {"betas": (options["beta1"], options["beta2"])}
        start, grad = starting_point(m)
        optimizer = getattr(m.optim, kind)([weight := start.clone()], **given, differentiable=True)
        # As after three steps, so that the decays have a part in it.
        mean, squares = 0.3 * grad.detach(), grad.detach() ** 2
        optimizer.state[weight] = {"step": m.tensor(3.0), "exp_avg": mean, "exp_avg_sq": squares}
        if kind == "NAdam":
            optimizer.state[weight]["mu_product"] = m.ones(())
        if kind == "SGD":
            del optimizer.state[weight]
        weight.grad = grad
        optimizer.step()
        return m.autograd.grad((weight**2).sum(), [start, grad, *options.values()], allow_unused=True)

    agree(program, relative=1e-6, absolute=1e-9)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_derivatives_go_to_the_learning_rate(kind, torch):
    """One step is `w - lr * u` with a `u` that the rate has no part in: the derivative of the sum is that of `-u`."""
    rate = torch.tensor(0.1, requires_grad=True)
    weight = torch.ones(3).requires_grad_()
    optimizer = getattr(torch.optim, kind)([weight], lr=rate, differentiable=True)
    optimizer.param_groups[0]["params"] = [moved := weight.clone()]
    moved.grad = torch.tensor([1.0, 2.0, 3.0])
    optimizer.step()
    change = (weight - moved).sum()
    (slope,) = torch.autograd.grad(change, rate)
    assert float(slope) == pytest.approx(float(change) / 0.1, rel=1e-5)


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


@pytest.mark.unsanitized("hundreds of steps")
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


@pytest.mark.unsanitized("hundreds of steps")
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("beta2", "t"), [(0.999, 1), (0.999, 700), (0.9, 3), (0.95, 316), (0.5, 200), (1 - 1e-13, 1)])
def test_adams_step_is_rounded_as_its_formula_is(dtype, beta2, t):
    """Square roots of any size are divided by one number, whose fraction is all ones in the fourth case."""
    real, unsigned = getattr(numpy, dtype), getattr(numpy, dtype.replace("float", "uint"))
    highest = numpy.array(numpy.inf, real).view(unsigned)
    squares = numpy.random.default_rng(0).integers(0, int(highest), 4001, dtype=unsigned).view(real)
    squares[:3] = 0, numpy.inf, numpy.nan
    weight = clew.zeros(len(squares), dtype=getattr(clew, dtype), requires_grad=True)
    optimizer = clew.optim.Adam([weight], lr=0.01, betas=(0.0, beta2), eps=1e-8)
    weight.grad = clew.full_like(weight, 3.0)
    optimizer.step()
    with clew.no_grad():
        weight.zero_()
        optimizer.state[weight]["exp_avg_sq"].copy_(clew.from_numpy(squares))
        optimizer.state[weight]["step"].fill_(t - 1)
    optimizer.step()
    squares = optimizer.state[weight]["exp_avg_sq"].numpy()
    with numpy.errstate(all="ignore"):
        root = numpy.sqrt(squares) / real(numpy.sqrt(1 - beta2**t))
        expected = real(-0.01) * real(3) / (root + real(1e-8))
    assert numpy.array_equal(weight.detach().numpy(), expected, equal_nan=True)


def test_a_line_search_ends_where_its_bracket_has_no_width():
    """With tolerance_change=0 nothing else ends it: the interpolation divided by the width."""
    from clew.optim.line_search import Point, strong_wolfe

    def at(t):  # a corner: no step satisfies the condition on the slope
        slope = -1.0 if t < 1 else 1.0
        return Point(t, abs(t - 1.0), clew.tensor([slope]), slope)

    assert abs(strong_wolfe(at, at(0.0), 3.0, 1.0, 0.0, 2000).t - 1) < 1e-12
