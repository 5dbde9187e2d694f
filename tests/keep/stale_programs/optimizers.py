"""Optimizers, schedulers and training steps that change between calls."""

import copy

import clew
from clew import nn
from clew.nn import functional

from .harness import program
from .values import row3, w3, x3


def training(s, optimizer_of, batches=6):
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optimizer_of(model)
    s.watch(model, optimizer)

    @s.compile
    def step(x):
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, lambda count: [s.call(step, row3() * (0.1 + 0.1 * i)) for i in range(count)]


@program
def a_learning_rate(s):
    _, optimizer, steps = training(s, lambda model: clew.optim.SGD(model.parameters(), lr=0.1))
    steps(4)
    optimizer.param_groups[0]["lr"] = 0.01
    steps(3)
    optimizer.param_groups[0]["lr"] = clew.tensor(0.02)
    steps(2)


@program
def momentum_that_comes_and_goes(s):
    _, optimizer, steps = training(s, lambda model: clew.optim.SGD(model.parameters(), lr=0.1))
    steps(3)
    optimizer.param_groups[0]["momentum"] = 0.9
    steps(4)
    optimizer.param_groups[0].update(nesterov=True, momentum=0.5)
    steps(3)
    optimizer.param_groups[0].update(weight_decay=0.1, nesterov=False, momentum=0.0)
    steps(3)
    optimizer.param_groups[0]["maximize"] = True
    steps(2)


@program
def options_of_adam(s):
    _, optimizer, steps = training(s, lambda model: clew.optim.Adam(model.parameters(), lr=0.1))
    steps(4)
    optimizer.param_groups[0]["betas"] = (0.5, 0.9)
    steps(3)
    optimizer.param_groups[0].update(eps=0.1, weight_decay=0.1)
    steps(3)
    optimizer.param_groups[0]["amsgrad"] = True
    steps(3)


@program
def a_group_that_is_added(s):
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    optimizer = clew.optim.AdamW(model[0].parameters(), lr=0.1)
    s.watch(model, optimizer)

    @s.compile
    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    s.calls(4, step, row3())
    optimizer.add_param_group({"params": list(model[1].parameters()), "lr": 0.5})
    s.calls(4, step, row3())


@program
def a_state_that_is_loaded(s):
    model, optimizer, steps = training(s, lambda model: clew.optim.Adam(model.parameters(), lr=0.1))
    steps(3)
    saved = copy.deepcopy(optimizer.state_dict())
    steps(2)
    optimizer.load_state_dict(saved)
    steps(3)
    optimizer.state.clear()
    steps(3)
    del optimizer.state[model[0].weight]
    steps(2)


@program
def a_scheduler_between_steps(s):
    _, optimizer, steps = training(s, lambda model: clew.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    scheduler = clew.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    for _ in range(4):
        steps(2)
        scheduler.step()


@program
def a_scheduler_inside_the_step(s):
    model = nn.Linear(3, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    scheduler = clew.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    s.watch(model)

    @s.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss, scheduler.get_last_lr()[0], scheduler.last_epoch, optimizer.param_groups[0]["lr"]

    s.calls(6, step, row3())


@program
def a_hook_of_the_optimizer(s):
    _, optimizer, steps = training(s, lambda model: clew.optim.SGD(model.parameters(), lr=0.1))
    seen = s.watch([])
    steps(3)
    handle = optimizer.register_step_pre_hook(lambda optimizer, arguments, named: seen.append(len(seen)))
    steps(3)
    handle.remove()
    steps(2)


@program
def a_step_that_is_patched(s):
    model, optimizer, steps = training(s, lambda model: clew.optim.SGD(model.parameters(), lr=0.1))
    steps(3)
    optimizer.step = lambda: model[0].weight.data.zero_()
    steps(2)


@program
def another_optimizer(s):
    model, box = s.watch(nn.Linear(3, 1)), []
    box.append(clew.optim.SGD(model.parameters(), lr=0.1))

    @s.compile
    def step(x):
        box[0].zero_grad()
        model(x).sum().backward()
        box[0].step()

    s.calls(3, step, row3())
    box[0] = clew.optim.RMSprop(model.parameters(), lr=0.1)
    s.calls(3, step, row3())


@program
def gradients_that_are_clipped(s):
    model = s.watch(nn.Linear(3, 1))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)

    @s.compile
    def step(x, limit):
        optimizer.zero_grad()
        model(x).sum().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        return norm

    for limit in (1.0, 1.0, 100.0, 0.5, 0.5):
        s.call(step, row3(), limit)
    model.bias.requires_grad_(False)
    s.call(step, row3(), 0.5)


@program
def gradients_that_accumulate(s):
    model = s.watch(nn.Linear(3, 1))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    turn = [0]

    @s.compile
    def step(x):
        model(x).sum().backward()
        if turn[0] % 2:
            optimizer.step()
            optimizer.zero_grad()

    for turn[0] in range(6):
        s.call(step, row3())


@program
def a_step_that_skips_what_is_not_finite(s):
    model = s.watch(nn.Linear(3, 1))
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)

    @s.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        if clew.isfinite(loss):
            optimizer.step()
        return loss

    for factor in (1.0, 1.0, float("inf"), 2.0, float("nan"), 1.0):
        s.call(step, row3() * factor)


@program
def lbfgs_with_a_closure(s):
    weight = s.watch(nn.Parameter(clew.ones(3)))
    optimizer = clew.optim.LBFGS([weight], lr=0.5, max_iter=3)

    @s.compile
    def step(x):
        def closure():
            optimizer.zero_grad()
            loss = ((weight - x) ** 4).sum()
            loss.backward()
            return loss

        return optimizer.step(closure)

    s.calls(3, step, row3()[0])
    optimizer.param_groups[0]["max_iter"] = 5
    s.calls(2, step, row3()[0])


def with_adam(s, change, groups=1):
    weights = [s.watch(w3().detach().requires_grad_()) for _ in range(groups)]
    optimizer = clew.optim.Adam([{"params": [one]} for one in weights], lr=0.1)

    def function(x):
        optimizer.zero_grad()
        sum((one * x).square().sum() for one in weights).backward()
        optimizer.step()

    f = s.compile(function)
    s.calls(3, f, x3())
    for i in range(6):
        change(optimizer.param_groups, i)
        s.calls(2, f, x3())


@program
def betas_of_adam(s):
    def change(groups, i):
        groups[-1]["betas"] = (0.9 - 0.01 * i, 0.999 if i % 2 else 0.99)

    with_adam(s, change)
    with_adam(s, change, groups=2)


@program
def betas_of_adam_that_are_no_two_floats(s):
    kinds = [(0.5, 0.9, 0.9), (0.5, 0.9), [0.6, 0.9], (0, 0.9), (0.7,), (0.8, 0.99)]

    def change(groups, i):
        groups[0]["betas"] = kinds[i]

    with_adam(s, change)


@program
def betas_of_adam_that_it_computes_with(s):
    weight = s.watch(w3().detach().requires_grad_())
    optimizer = clew.optim.Adam([weight], lr=0.1)

    def function(x):
        optimizer.zero_grad()
        beta, other = optimizer.param_groups[0]["betas"]
        (weight * x * beta).square().sum().backward()
        optimizer.step()
        return x * (2 if other > 0.99 else 3), len(optimizer.param_groups[0]["betas"])

    f = s.compile(function)
    for betas in ((0.9, 0.999), (0.8, 0.999), (0.8, 0.98), (0.7, 0.98)):
        optimizer.param_groups[0]["betas"] = betas
        s.calls(3, f, x3())


@program
def adam_in_one_cycle(s):
    weight = s.watch(w3().detach().requires_grad_())
    optimizer = clew.optim.AdamW([weight], lr=0.1)
    schedule = clew.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=20)

    def function(x):
        optimizer.zero_grad()
        (weight * x).square().sum().backward()
        optimizer.step()

    f = s.compile(function)
    for _ in range(12):
        s.call(f, x3())
        schedule.step()
