"""Averages of models are PyTorch's."""

import pytest


def model_of(m):
    return m.nn.Sequential(m.nn.Linear(3, 4), m.nn.BatchNorm1d(4), m.nn.Linear(4, 1))


AVERAGES = {
    "mean": lambda s: {},
    "mean of buffers": lambda s: {"use_buffers": True},
    "avg_fn": lambda s: {"avg_fn": s.get_ema_avg_fn(0.9)},
    "multi_avg_fn": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.8)},
    "swa multi_avg_fn": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "own function": lambda s: {"avg_fn": lambda averaged, current, count: averaged * 0.25 + current * 0.75},
}


@pytest.mark.parametrize("name", AVERAGES)
def test_an_averaged_model_agrees(name, agree):
    def program(m):
        model = model_of(m)
        averaged = m.optim.swa_utils.AveragedModel(model, **AVERAGES[name](m.optim.swa_utils))
        optimizer = m.optim.SGD(model.parameters(), lr=0.1)
        x = m.linspace(-1.0, 1.0, 30).reshape(10, 3)
        for _ in range(4):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            averaged.update_parameters(model)
        averaged.eval()
        return averaged(x), averaged.state_dict()

    agree(program)


def test_running_statistics_are_computed_anew(agree):
    def program(m):
        model = model_of(m)
        batches = [m.linspace(-1.0, float(i), 30).reshape(10, 3) for i in range(3)]
        model.eval()
        m.optim.swa_utils.update_bn([(batch, None) for batch in batches], model)
        return model.state_dict(), model.training, model[1].momentum

    agree(program)


@pytest.mark.parametrize("options", [{}, {"anneal_strategy": "linear", "anneal_epochs": 3}, {"anneal_epochs": 0}])
def test_the_rate_goes_to_a_constant(options, agree):
    def program(m):
        optimizer = m.optim.SGD([m.nn.Parameter(m.ones(1))], lr=0.5)
        first = m.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        scheduler = m.optim.swa_utils.SWALR(optimizer, 0.05, **options)
        rates = []
        for epoch in range(16):
            optimizer.step()
            (first if epoch < 3 else scheduler).step()
            rates.append(optimizer.param_groups[0]["lr"])
        return rates

    agree(program, absolute=1e-12)


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda s, o, w: s.get_ema_avg_fn(1.5), ValueError, r"Invalid decay value 1\.5"),
        (lambda s, o, w: s.SWALR(o, 0.1, anneal_strategy="no"), ValueError, "anneal_strategy must be one of"),
        (
            lambda s, o, w: s.SWALR(o, 0.1, anneal_epochs=-1),
            ValueError,
            "anneal_epochs must be equal or greater than 0",
        ),
        (lambda s, o, w: s.AveragedModel(w, avg_fn=max, multi_avg_fn=max), AssertionError, "Only one of avg_fn"),
    ],
)
def test_bad_arguments_are_refused(act, error, text, torch):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])
    with pytest.raises(error, match=text):
        act(torch.optim.swa_utils, optimizer, torch.nn.Linear(1, 1))
