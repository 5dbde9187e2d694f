"""Hooks of modules and of parameters that come and go between calls."""

from clew import nn

from .harness import program
from .values import row3


@program
def a_forward_hook(s):
    model = nn.Linear(3, 2)
    f = s.compile(lambda x: model(x))
    s.calls(2, f, row3())
    handle = model.register_forward_hook(lambda module, inputs, output: output * 10)
    s.calls(2, f, row3())
    handle.remove()
    s.calls(2, f, row3())


@program
def a_forward_pre_hook(s):
    model, seen = nn.Sequential(nn.Linear(3, 2)), s.watch([])
    f = s.compile(lambda x: model(x))
    s.calls(2, f, row3())
    handle = model[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].sum().item()))
    s.calls(3, f, row3())
    handle.remove()
    s.calls(2, f, row3())


@program
def a_global_hook_of_modules(s):
    model = nn.Linear(3, 2)
    f = s.compile(lambda x: model(x))
    s.calls(2, f, row3())
    handle = nn.modules.module.register_module_forward_hook(lambda module, inputs, output: output * 10)
    try:
        s.calls(2, f, row3())
    finally:
        handle.remove()
    s.call(f, row3())


@program
def a_backward_hook_of_a_module(s):
    model, seen = s.watch(nn.Linear(3, 2)), s.watch([])

    @s.compile
    def f(x):
        model(x).sum().backward()

    s.calls(2, f, row3())
    handle = model.register_full_backward_hook(lambda module, inputs, outputs: seen.append(outputs[0].sum().item()))
    s.calls(3, f, row3())
    handle.remove()
    s.calls(2, f, row3())


@program
def a_hook_of_a_parameter(s):
    model = s.watch(nn.Linear(3, 2))

    @s.compile
    def f(x):
        model.zero_grad()
        model(x).sum().backward()

    s.calls(3, f, row3())
    handle = model.weight.register_hook(lambda gradient: gradient * 10)
    s.calls(2, f, row3())
    handle.remove()
    s.calls(2, f, row3())


@program
def a_hook_after_accumulation(s):
    model, seen = s.watch(nn.Linear(3, 2)), s.watch([])

    @s.compile
    def f(x):
        model(x).sum().backward()

    s.calls(3, f, row3())
    handle = model.weight.register_post_accumulate_grad_hook(lambda weight: seen.append(weight.grad.sum().item()))
    s.calls(3, f, row3())
    handle.remove()
    s.calls(2, f, row3())
