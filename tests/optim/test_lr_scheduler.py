"""Learning rates follow PyTorch's schedules."""

import pytest

SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5], gamma=0.5),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, eta_min=0.01),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "LambdaLR by group": lambda s, o: s.LambdaLR(o, [lambda epoch: epoch + 1, lambda epoch: 0.5]),
}


def optimizer_of(m):
    weights = [m.nn.Parameter(m.ones(1)) for _ in range(2)]
    return m.optim.SGD([{"params": [weights[0]]}, {"params": [weights[1]], "lr": 0.3}], lr=0.1)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_agrees(name, agree):
    def program(m):
        optimizer = optimizer_of(m)
        scheduler = SCHEDULES[name](m.optim.lr_scheduler, optimizer)
        rates = [scheduler.get_last_lr()]
        for _ in range(14):
            optimizer.step()
            scheduler.step()
            rates.append([*scheduler.get_last_lr(), *(group["lr"] for group in optimizer.param_groups)])
        return rates

    agree(program, absolute=1e-12)


@pytest.mark.parametrize("name", ["StepLR", "ExponentialLR", "MultiStepLR"])
def test_what_others_do_to_the_rate_stays(name, agree):
    def program(m):
        optimizer = optimizer_of(m)
        scheduler = SCHEDULES[name](m.optim.lr_scheduler, optimizer)
        rates = []
        for epoch in range(8):
            optimizer.step()
            if epoch == 3:
                optimizer.param_groups[0]["lr"] = 7.0
            scheduler.step()
            rates.append(scheduler.get_last_lr())
        return rates

    agree(program)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_is_resumed_from_its_state(name, agree):
    def program(m):
        optimizer = optimizer_of(m)
        scheduler = SCHEDULES[name](m.optim.lr_scheduler, optimizer)
        for _ in range(4):
            optimizer.step()
            scheduler.step()
        again = optimizer_of(m)
        resumed = SCHEDULES[name](m.optim.lr_scheduler, again)
        resumed.load_state_dict(scheduler.state_dict())
        again.load_state_dict(optimizer.state_dict())
        rates = []
        for _ in range(5):
            again.step()
            resumed.step()
            rates.append(resumed.get_last_lr())
        return rates

    agree(program)


@pytest.mark.parametrize("name", ["StepLR", "ExponentialLR", "CosineAnnealingLR"])
def test_a_schedule_is_resumed_at_an_epoch(name, agree):
    def program(m):
        optimizer = optimizer_of(m)
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        kinds = {"StepLR": (3, 0.5), "ExponentialLR": (0.9,), "CosineAnnealingLR": (5, 0.01)}
        scheduler = getattr(m.optim.lr_scheduler, name)(optimizer, *kinds[name], last_epoch=2)
        rates = [scheduler.get_last_lr()]
        for _ in range(4):
            optimizer.step()
            scheduler.step()
            rates.append(scheduler.get_last_lr())
        return rates

    agree(program)


def test_resuming_needs_the_initial_rates(torch):
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        torch.optim.lr_scheduler.StepLR(optimizer_of(torch), 3, last_epoch=2)


def test_the_order_of_steps_is_checked(torch):
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer_of(torch), 3)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    scheduler.step()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max"},
        {"threshold": 0.5, "threshold_mode": "abs"},
        {"patience": 0, "cooldown": 2},
        {"patience": 1, "min_lr": [0.05, 0.2]},
        {"patience": 0, "factor": 0.99999999999},
    ],
    ids=str,
)
def test_a_plateau_reduces_the_rate(options, agree):
    def program(m):
        optimizer = optimizer_of(m)
        scheduler = m.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **{"patience": 2, "factor": 0.5, **options})
        rates = []
        for measure in [5, 4, 4.2, 4.1, 4, 4, 3.9999, 4, 4, 5, 6, 6, 6, 3, 3, 3, 3, 3, 3]:
            optimizer.step()
            scheduler.step(measure)
            rates.append([*scheduler.get_last_lr(), float(scheduler.best), scheduler.num_bad_epochs])
        return rates

    agree(program)


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda s, o: s.StepLR("optimizer", 3), TypeError, "is not an Optimizer"),
        (lambda s, o: s.LambdaLR(o, [lambda epoch: 1.0]), ValueError, "Expected 2 lr_lambdas, but got 1"),
        (lambda s, o: s.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda s, o: s.ReduceLROnPlateau(o, mode="best"), ValueError, "mode best is unknown"),
        (lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="x"), ValueError, "threshold mode x is unknown"),
        (lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1]), ValueError, "expected 2 min_lrs, got 1"),
        (lambda s, o: s.ReduceLROnPlateau("optimizer"), TypeError, "is not an Optimizer"),
    ],
)
def test_bad_arguments_are_refused(act, error, text, torch):
    with pytest.raises(error, match=text):
        act(torch.optim.lr_scheduler, optimizer_of(torch))
