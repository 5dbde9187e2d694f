"""Learning rates follow PyTorch's schedules."""

import pytest

SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5], gamma=0.5),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, eta_min=0.01),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "LambdaLR by group": lambda s, o: s.LambdaLR(o, [lambda epoch: epoch + 1, lambda epoch: 0.5]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.9 if epoch % 2 else 0.7),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.25, 0.75, 6),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 8, 2.0),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.2, 0.4], 3, 2),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 2, mode="triangular2", cycle_momentum=False),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 2, mode="exp_range", gamma=0.9),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=14),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(o, [0.5, 0.3], 14, anneal_strategy="linear", three_phase=True),
    "OneCycleLR epochs": lambda s, o: s.OneCycleLR(o, 0.5, epochs=5, steps_per_epoch=3, cycle_momentum=False),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 4), s.ExponentialLR(o, 0.9)]),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingLR(o, 5), s.StepLR(o, 2)], [4, 9]
    ),
    "SequentialLR of a chain": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 2), s.MultiplicativeLR(o, lambda epoch: 0.9)], [3]
    ),
}


def optimizer_of(m):
    weights = [m.nn.Parameter(m.ones(1)) for _ in range(2)]
    return m.optim.SGD([{"params": [weights[0]]}, {"params": [weights[1]], "lr": 0.3}], lr=0.1, momentum=0.7)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_agrees(name, agree):
    def program(m):
        optimizer = optimizer_of(m)
        scheduler = SCHEDULES[name](m.optim.lr_scheduler, optimizer)
        rates = [scheduler.get_last_lr()]
        for _ in range(14):
            optimizer.step()
            scheduler.step()
            groups = [[group["lr"], group["momentum"]] for group in optimizer.param_groups]
            rates.append([scheduler.get_last_lr(), groups])
        return rates

    agree(program, absolute=1e-12)


@pytest.mark.parametrize("name", [name for name in SCHEDULES if "LR" in name and "CyclicLR" not in name])
def test_a_rate_that_is_a_tensor_is_written(name, agree):
    def program(m):
        rates = [m.tensor(0.1, dtype=m.float64), m.tensor(0.3, dtype=m.float64)]
        groups = [{"params": [m.nn.Parameter(m.ones(1))], "lr": rate} for rate in rates]
        optimizer = m.optim.SGD(groups, momentum=0.7)
        scheduler = SCHEDULES[name](m.optim.lr_scheduler, optimizer)
        seen = []
        for _ in range(9):
            optimizer.step()
            scheduler.step()
            seen.append([float(rate) for rate in rates] + [float(rate) for rate in scheduler.get_last_lr()])
        same = [group["lr"] is rate for group, rate in zip(optimizer.param_groups, rates, strict=True)]
        return [seen, same]

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


@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
def test_the_first_beta_is_the_momentum(kind, agree):
    def program(m):
        optimizer = getattr(m.optim, kind)([m.nn.Parameter(m.ones(1))], lr=0.1)
        scheduler = m.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, 6)
        found = []
        for _ in range(5):
            optimizer.step()
            scheduler.step()
            found.append([optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["betas"]])
        return found

    agree(program, absolute=1e-12)


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize(
    "name", [name for name in SCHEDULES if name.split()[0] not in ("ChainedScheduler", "SequentialLR")]
)
def test_an_epoch_may_be_told(name, agree):
    def program(m):
        optimizer = optimizer_of(m)
        scheduler = SCHEDULES[name](m.optim.lr_scheduler, optimizer)
        optimizer.step()
        rates = []
        for epoch in [5, 2, 9, 0, None, None]:
            scheduler.step(epoch)
            rates.append(scheduler.get_last_lr())
        return rates

    agree(program, absolute=1e-12)


def test_restarts_take_fractions_of_epochs(agree):
    def program(m):
        optimizer = optimizer_of(m)
        scheduler = m.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2, 3)
        rates = []
        for step in range(40):
            optimizer.step()
            scheduler.step(step / 4)
            rates.append(scheduler.get_last_lr())
        return rates

    agree(program, absolute=1e-12)


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


class Halving:
    """A factor that knows something of its own."""

    def __init__(self):
        self.base = 0.5

    def __call__(self, epoch):
        return self.base**epoch


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize("name", [*SCHEDULES, "LambdaLR of an object", "CyclicLR scaled"])
def test_states_are_taken_over_from_pytorch_and_by_it(name, ours_first, torch, oracle):
    made = {
        "LambdaLR of an object": lambda s, o: s.LambdaLR(o, [Halving(), lambda epoch: 1.0]),
        "CyclicLR scaled": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 2, scale_fn=lambda cycle: 0.5),
    }.get(name) or SCHEDULES[name]
    optimizers = [optimizer_of(m) for m in ([torch, oracle] if ours_first else [oracle, torch])]
    modules = [torch, oracle] if ours_first else [oracle, torch]
    first, second = (made(m.optim.lr_scheduler, o) for m, o in zip(modules, optimizers, strict=True))
    rates = []
    for steps, turn in [(5, (0,)), (6, (0, 1))]:
        if len(turn) == 2:
            second.load_state_dict(first.state_dict())
            for mine, given in zip(optimizers[1].param_groups, optimizers[0].param_groups, strict=True):
                mine.update({key: value for key, value in given.items() if key != "params"})
        for _ in range(steps):
            for index in turn:
                optimizers[index].step()
                (first, second)[index].step()
            rates.append([[group["lr"] for group in o.param_groups] for o in optimizers])
    for mine, theirs in rates[5:]:
        assert mine == pytest.approx(theirs, abs=1e-12)
