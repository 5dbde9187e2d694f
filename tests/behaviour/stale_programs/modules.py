"""Modules, parameters, hooks of modules, optimizers and schedulers that change between calls."""

import copy

import clew
from clew import nn
from clew.nn import functional

from .harness import program


def x3():
    return clew.tensor([[1.0, 2.0, 3.0]])


@program
def train_and_eval(s):
    model = s.watch(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1)))
    f, x = s.compile(lambda x: model(x).sum()), clew.arange(12.0).view(4, 3)
    s.calls(3, f, x)
    model.eval()
    s.calls(2, f, x)
    model.train()
    s.call(f, x)
    model[1].eval()
    s.call(f, x)


@program
def train_and_eval_inside(s):
    model = s.watch(nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5)))

    @s.compile
    def f(x):
        model.eval()
        y = model(x)
        model.train()
        return y, model(x), model.training

    s.calls(3, f, x3())
    model.eval()
    s.calls(2, f, x3())


@program
def a_probability_of_dropout(s):
    model = nn.Dropout(0.5)
    f = s.compile(lambda x: model(x))
    s.calls(3, f, clew.ones(20))
    model.p = 0.1
    s.calls(2, f, clew.ones(20))
    model.inplace = True
    x = s.watch(clew.ones(20))
    s.call(f, x)


@program
def a_parameter_that_is_replaced(s):
    model = s.watch(nn.Linear(3, 2))
    f = s.compile(lambda x: model(x).sum())
    s.calls(2, f, x3())
    model.weight = nn.Parameter(clew.ones(2, 3))
    s.calls(2, f, x3())
    del model.bias
    model.bias = None
    s.calls(2, f, x3())


@program
def a_parameter_in_the_dict_of_parameters(s):
    model = s.watch(nn.Linear(3, 2))
    f = s.compile(lambda x: model(x).sum())
    s.calls(2, f, x3())
    model._parameters["weight"] = nn.Parameter(clew.ones(2, 3))
    s.call(f, x3())


@program
def tied_weights(s):
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    s.watch(a, b)

    @s.compile
    def f(x):
        loss = b(a(x)).sum()
        loss.backward()
        return loss

    s.calls(3, f, x3())
    b.weight = a.weight
    s.calls(2, f, x3())


@program
def a_layer_that_is_replaced(s):
    model = s.watch(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    f = s.compile(lambda x: model(x))
    s.calls(2, f, x3())
    model[1] = nn.Tanh()
    s.call(f, x3())
    model.append(nn.Sigmoid())
    s.call(f, x3())
    del model[0]
    s.call(f, x3())


@program
def a_buffer(s):
    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("shift", clew.zeros(3))
            self.register_buffer("seen", clew.tensor(0))

        def forward(self, x):
            self.seen += 1
            self.shift = self.shift * 0.5 + x.detach().mean(0)
            return x - self.shift

    model = s.watch(Shift())
    f = s.compile(model)
    s.calls(4, f, x3())
    model.shift = clew.ones(3)
    model.seen.fill_(10)
    s.calls(2, f, x3())


@program
def weights_that_are_loaded(s):
    model = s.watch(nn.Linear(3, 2))
    f = s.compile(lambda x: model(x))
    before = copy.deepcopy(model.state_dict())
    s.calls(2, f, x3())
    with clew.no_grad():
        model.weight.zero_()
    s.call(f, x3())
    model.load_state_dict(before)
    s.call(f, x3())
    model.load_state_dict({name: one * 2 for name, one in before.items()}, assign=True)
    s.call(f, x3())


@program
def a_model_in_another_dtype(s):
    model = s.watch(nn.Linear(3, 2))
    f = s.compile(lambda x: model(x.to(model.weight.dtype)))
    s.calls(2, f, x3())
    model.double()
    s.calls(2, f, x3())


@program
def a_frozen_layer(s):
    model = s.watch(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)))

    @s.compile
    def f(x):
        model(x).sum().backward()

    s.calls(3, f, x3())
    model[0].requires_grad_(False)
    s.calls(2, f, x3())
    model[0].requires_grad_(True)
    model.zero_grad()
    s.calls(2, f, x3())


@program
def gradients_set_to_zero_or_none(s):
    model = s.watch(nn.Linear(3, 1))

    @s.compile
    def f(x, to_none):
        model.zero_grad(set_to_none=to_none)
        model(x).sum().backward()
        return model.weight.grad

    for to_none in (True, True, False, False, True):
        s.call(f, x3(), to_none)
    model.bias.grad = None
    s.call(f, x3(), False)


@program
def a_forward_hook(s):
    model = nn.Linear(3, 2)
    f = s.compile(lambda x: model(x))
    s.calls(2, f, x3())
    handle = model.register_forward_hook(lambda module, inputs, output: output * 10)
    s.calls(2, f, x3())
    handle.remove()
    s.calls(2, f, x3())


@program
def a_forward_pre_hook(s):
    model, seen = nn.Sequential(nn.Linear(3, 2)), s.watch([])
    f = s.compile(lambda x: model(x))
    s.calls(2, f, x3())
    handle = model[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].sum().item()))
    s.calls(3, f, x3())
    handle.remove()
    s.calls(2, f, x3())


@program
def a_global_hook_of_modules(s):
    model = nn.Linear(3, 2)
    f = s.compile(lambda x: model(x))
    s.calls(2, f, x3())
    handle = nn.modules.module.register_module_forward_hook(lambda module, inputs, output: output * 10)
    try:
        s.calls(2, f, x3())
    finally:
        handle.remove()
    s.call(f, x3())


@program
def a_backward_hook_of_a_module(s):
    model, seen = s.watch(nn.Linear(3, 2)), s.watch([])

    @s.compile
    def f(x):
        model(x).sum().backward()

    s.calls(2, f, x3())
    handle = model.register_full_backward_hook(lambda module, inputs, outputs: seen.append(outputs[0].sum().item()))
    s.calls(3, f, x3())
    handle.remove()
    s.calls(2, f, x3())


@program
def a_hook_of_a_parameter(s):
    model = s.watch(nn.Linear(3, 2))

    @s.compile
    def f(x):
        model.zero_grad()
        model(x).sum().backward()

    s.calls(3, f, x3())
    handle = model.weight.register_hook(lambda gradient: gradient * 10)
    s.calls(2, f, x3())
    handle.remove()
    s.calls(2, f, x3())


@program
def a_hook_after_accumulation(s):
    model, seen = s.watch(nn.Linear(3, 2)), s.watch([])

    @s.compile
    def f(x):
        model(x).sum().backward()

    s.calls(3, f, x3())
    handle = model.weight.register_post_accumulate_grad_hook(lambda weight: seen.append(weight.grad.sum().item()))
    s.calls(3, f, x3())
    handle.remove()
    s.calls(2, f, x3())


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

    return model, optimizer, lambda count: [s.call(step, x3() * (0.1 + 0.1 * i)) for i in range(count)]


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

    s.calls(4, step, x3())
    optimizer.add_param_group({"params": list(model[1].parameters()), "lr": 0.5})
    s.calls(4, step, x3())


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

    s.calls(6, step, x3())


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

    s.calls(3, step, x3())
    box[0] = clew.optim.RMSprop(model.parameters(), lr=0.1)
    s.calls(3, step, x3())


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
        s.call(step, x3(), limit)
    model.bias.requires_grad_(False)
    s.call(step, x3(), 0.5)


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
        s.call(step, x3())


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
        s.call(step, x3() * factor)


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

    s.calls(3, step, x3()[0])
    optimizer.param_groups[0]["max_iter"] = 5
    s.calls(2, step, x3()[0])


@program
def a_compiled_module(s):
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    compiled = s.compile(model)
    s.calls(3, compiled, x3())
    compiled.eval()
    s.calls(2, compiled, x3())
    model.register_forward_hook(lambda module, inputs, output: output + 100)
    s.calls(2, compiled, x3())
    model[0].bias = None
    s.call(compiled, x3())


@program
def a_parametrization(s):
    model = nn.Linear(3, 2)
    f = s.compile(lambda x: model(x))
    s.calls(2, f, x3())

    class Double(nn.Module):
        factor = 2.0

        def forward(self, weight):
            return weight * self.factor

    nn.utils.parametrize.register_parametrization(model, "weight", Double())
    s.calls(2, f, x3())
    Double.factor = 5.0
    s.call(f, x3())


@program
def attention_with_a_mask(s):
    model = nn.MultiheadAttention(4, 2, batch_first=True)
    model.eval()
    mask = clew.zeros(3, 3, dtype=clew.bool)
    f = s.compile(lambda x: model(x, x, x, attn_mask=mask, need_weights=False)[0])
    x = clew.arange(12.0).view(1, 3, 4) / 10
    s.calls(2, f, x)
    mask[0, 1] = True
    s.calls(2, f, x)


@program
def an_option_of_a_layer(s):
    model = nn.Sequential(nn.Conv1d(1, 1, 3, padding=1), nn.LeakyReLU(0.1), nn.Softmax(-1))
    f, x = s.compile(lambda x: model(x)), clew.arange(5.0).view(1, 1, 5) - 2
    s.calls(2, f, x)
    model[1].negative_slope = 0.5
    s.call(f, x)
    model[0].padding = (0,)
    s.call(f, x)
    model[2].dim = -2
    s.call(f, x)
