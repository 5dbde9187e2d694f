"""Public reports on losses, distributions, optimizers and schedulers, each as a test.

The first line of a docstring is the report.
"""

import math

import pytest

INF = math.inf


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_ignored_targets_have_no_part_in_a_smoothed_loss(torch, reduction, weighted, smoothing):
    """https://github.com/pytorch/pytorch/issues/73205, https://github.com/pytorch/pytorch/issues/69339,
    https://github.com/pytorch/pytorch/issues/91383, https://github.com/pytorch/pytorch/issues/72056

    With `label_smoothing` the ignored samples counted, and with weights, too, the ignored index was looked up in them.
    """
    loss = torch.nn.functional.cross_entropy
    settings = {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": -1}
    settings["weight"] = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64) if weighted else None
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, -1, 2, -1])
    kept = [0, 2]
    part = x.detach()[kept].requires_grad_()
    found, expected = loss(x, target, **settings), loss(part, target[kept], **settings)
    if reduction == "none":
        assert found[1].item() == found[3].item() == 0
        found, expected = found[kept].sum(), expected.sum()
    assert torch.allclose(found, expected)
    found.backward()
    expected.backward()
    assert torch.allclose(x.grad[kept], part.grad)
    assert x.grad[[1, 3]].abs().sum().item() == 0


def test_a_loss_whose_targets_are_all_ignored(torch):
    """https://github.com/pytorch/pytorch/issues/116349, https://github.com/pytorch/pytorch/issues/75181

    The mean of no samples is 0/0: NaN, while the sum is 0.
    """
    loss = torch.nn.functional.cross_entropy
    x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    target = torch.tensor([-1])
    assert math.isnan(loss(x, target, ignore_index=-1).item())
    total = loss(x, target, ignore_index=-1, reduction="sum")
    total.backward()
    assert total.item() == 0
    assert x.grad.tolist() == [[0, 0, 0]]


def test_a_target_that_is_no_class(torch):
    """https://github.com/pytorch/pytorch/issues/12670

    A target of -4 read memory outside of the tensor, unless it was the ignored index.
    """
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        torch.nn.functional.cross_entropy(torch.ones(1, 5), torch.tensor([-4]), ignore_index=-1)


def test_the_gradient_of_a_divergence_by_its_target(torch):
    """https://github.com/pytorch/pytorch/issues/89558

    t (log t - x) has the slope log t + 1 - x, infinite at t = 0; the gradient by the input is -t everywhere.
    """
    x = torch.tensor([0.0, -700.0], dtype=torch.float64, requires_grad=True)
    torch.nn.functional.kl_div(x, torch.tensor([1.0, 0.0], dtype=torch.float64), reduction="sum").backward()
    assert x.grad.tolist() == [-1, 0]
    t = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    torch.nn.functional.kl_div(x.detach() / 100, t, reduction="sum").backward()
    assert t.grad.tolist() == pytest.approx([math.log(0.5) + 1, 1 + 7])


def test_a_divergence_of_saturated_coins(torch):
    """https://github.com/pytorch/pytorch/issues/15288

    The divergence of Bernoulli distributions with logits of 30 had NaN gradients.
    """
    distributions = torch.distributions
    logits = torch.tensor([10.3, -6.0, 30.0], requires_grad=True)
    other = distributions.Bernoulli(probs=torch.full((3,), 0.5))
    distributions.kl_divergence(distributions.Bernoulli(logits=logits), other).sum().backward()
    wide = logits.detach().double()
    expected = wide * wide.sigmoid() * (-wide).sigmoid()
    assert torch.allclose(logits.grad.double(), expected, atol=1e-4)


def test_the_shape_of_a_divergence(torch):
    """https://github.com/pytorch/pytorch/issues/34859, https://github.com/pytorch/pytorch/issues/29698

    The divergence of transformed distributions over an independent base summed the batch, too.
    """
    d = torch.distributions
    normal = d.Independent(d.Normal(torch.zeros(2, 3), torch.ones(2, 3)), 1)
    moved = d.TransformedDistribution(normal, [d.AffineTransform(0.0, 2.0)])
    assert d.kl_divergence(normal, normal).shape == (2,)
    assert d.kl_divergence(moved, moved).shape == (2,)


def test_divergences_are_not_negative(torch, on_oracle):
    """https://github.com/pytorch/pytorch/issues/72525

    The divergence of two continuous Bernoulli distributions with logits of -500 and 20 was -16.7.
    """
    d = torch.distributions
    for a, b in ((-5.0, 3.0), (0.0, 0.2), (2.0, -2.0), *(() if on_oracle else ((-500.0, 20.0), (500.0, -20.0)))):
        p, q = (d.ContinuousBernoulli(logits=torch.tensor(one, dtype=torch.float64)) for one in (a, b))
        assert d.kl_divergence(p, q).item() >= 0, (a, b)


def test_gradients_of_normalized_probabilities(torch):
    """https://github.com/pytorch/pytorch/issues/30090

    `Categorical(probs)` normalizes: its gradient is that of the normalized formula, and moves nothing along probs.
    """
    d = torch.distributions
    logits = torch.tensor([-1.0, -2.0, -0.5], dtype=torch.float64, requires_grad=True)
    uniform = d.Categorical(torch.ones(3, dtype=torch.float64) / 3)
    (g,) = torch.autograd.grad(d.kl_divergence(d.Categorical(logits.exp()), uniform), logits)
    p = torch.softmax(logits, 0)
    (expected,) = torch.autograd.grad((p * (p.log() + math.log(3))).sum(), logits)
    assert torch.allclose(g, expected)
    assert abs(g.sum().item()) < 1e-12


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "SGD", "RMSprop", "Adadelta", "Adamax", "Rprop"])
def test_complex_parameters_are_pairs_of_real_ones(torch, name):
    """https://github.com/pytorch/pytorch/issues/59998, https://github.com/pytorch/pytorch/issues/100707

    Adam squared complex gradients, which gives no variance, and it failed for complex parameters with weight decay.
    """
    start = torch.tensor([1 + 2j, -3 + 0.5j], dtype=torch.complex128)
    z = start.clone().requires_grad_()
    pair = torch.view_as_real(start).clone().requires_grad_()
    settings = {} if name == "Rprop" else {"weight_decay": 0.1}
    optimizers = [getattr(torch.optim, name)([p], lr=0.1, **settings) for p in (z, pair)]
    for _ in range(3):
        for optimizer, value in zip(optimizers, (z, lambda: torch.view_as_complex(pair)), strict=True):
            optimizer.zero_grad()
            at = value() if callable(value) else value
            ((at - (0.5 - 1j)).abs() ** 2).sum().backward()
            optimizer.step()
    assert torch.allclose(torch.view_as_real(z.detach()), pair.detach())


def test_clipping_gradients_that_are_not_finite(torch):
    """https://github.com/pytorch/pytorch/issues/46849

    An infinite norm made all gradients 0 or NaN in silence; with `error_if_nonfinite` it raises and leaves them.
    """
    clip = torch.nn.utils.clip_grad_norm_
    first, second = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    first.grad, second.grad = torch.tensor([1.0, INF]), torch.tensor([3.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        clip([first, second], 1.0, error_if_nonfinite=True)
    assert (first.grad.tolist(), second.grad.tolist()) == ([1, INF], [3])
    assert clip([first, second], 1.0).item() == INF
    assert second.grad.tolist() == [0]


def test_clipping_nothing(torch):
    """https://github.com/pytorch/pytorch/pull/35753

    Parameters without gradients have the norm 0, and nothing happens.
    """
    p = torch.ones(2, requires_grad=True)
    assert torch.nn.utils.clip_grad_norm_([p], 1.0).item() == 0
    assert torch.nn.utils.clip_grad_norm_([], 1.0).item() == 0
    assert p.grad is None


def learning_rates(torch, scheduler, optimizer, steps):
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def test_a_cosine_goes_on_after_its_half_period(torch):
    """https://github.com/pytorch/pytorch/issues/17913, https://github.com/pytorch/pytorch/issues/20086

    `CosineAnnealingLR` divided by zero after its half period; the rates are those of the closed form.
    """
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    expected = [(1 + math.cos(math.pi * t / 3)) / 2 for t in range(10)]
    assert learning_rates(torch, scheduler, optimizer, 10) == pytest.approx(expected, abs=1e-12)


def test_a_cosine_that_is_begun_again(torch):
    """https://github.com/pytorch/pytorch/issues/78003

    A new `CosineAnnealingLR` on an optimizer that one has brought to 0 stays at 0, unless the rate is set back first.
    """
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    for first in (1, 0, 1):
        if first:
            optimizer.param_groups[0]["lr"] = 1.0
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
        assert learning_rates(torch, scheduler, optimizer, 4)[0] == pytest.approx(first)


@pytest.mark.parametrize("name", ["CosineAnnealingLR", "StepLR", "OneCycleLR", "LinearLR", "ExponentialLR"])
def test_schedules_go_on_from_a_checkpoint(torch, name):
    """https://github.com/pytorch/pytorch/issues/65342, https://github.com/Lightning-AI/pytorch-lightning/issues/5455

    After loading the states of optimizer and scheduler the rates went on from the first one. The scheduler is made
    first: making it sets the first rate.
    """
    make = {
        "CosineAnnealingLR": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10),
        "StepLR": lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5),
        "OneCycleLR": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 2.0, total_steps=20),
        "LinearLR": lambda o: torch.optim.lr_scheduler.LinearLR(o, 0.25, total_iters=8),
        "ExponentialLR": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
    }[name]

    def pair():
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.5)
        return optimizer, make(optimizer)

    optimizer, scheduler = pair()
    learning_rates(torch, scheduler, optimizer, 4)
    states = optimizer.state_dict(), scheduler.state_dict()
    other, resumed = pair()
    resumed.load_state_dict(states[1])
    other.load_state_dict(states[0])
    expected = learning_rates(torch, scheduler, optimizer, 5)
    assert learning_rates(torch, resumed, other, 5) == pytest.approx(expected)
