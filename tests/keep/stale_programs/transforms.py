"""What functions of functions read: parameters, which tensors ask for gradients, the graphs that they are given."""

import types

import clew
from clew import nn

from .harness import program
from .values import w3, x3


@program
def parameters_of_a_functional_call(s):
    layer, given = nn.Linear(3, 2), {"weight": clew.ones(2, 3)}
    s.watch(layer, given)
    f = s.compile(lambda x: clew.func.functional_call(layer, given, (x,)))
    s.calls(3, f, x3())
    given["weight"] = clew.full((2, 3), 2.0)
    s.calls(2, f, x3())
    given["weight"].mul_(3.0)
    s.calls(2, f, x3())
    given["bias"] = clew.zeros(2)
    s.calls(2, f, x3())
    layer.bias.data.fill_(1.0)
    del given["bias"]
    s.calls(2, f, x3())
    layer.weight = nn.Parameter(clew.zeros(2, 3))
    s.calls(2, f, x3())


@program
def parameters_of_a_functional_call_that_are_arguments(s):
    layer = s.watch(nn.Linear(3, 2))
    f = s.compile(lambda given, x: clew.func.functional_call(layer, given, (x,)))
    own = dict(layer.named_parameters())
    s.calls(3, f, own, x3())
    s.calls(2, f, {name: one.detach() * 2 for name, one in own.items()}, x3())
    s.calls(2, f, own, x3())
    layer.weight.data.mul_(2.0)
    s.calls(2, f, own, x3())


@program
def a_buffer_that_a_functional_call_sets(s):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", clew.zeros(()))

        def forward(self, x):
            self.count = self.count + 1
            return x * self.count

    module, given = Counting(), {"count": clew.ones(())}
    s.watch(module, given)
    f = s.compile(lambda x: clew.func.functional_call(module, given, (x,)))
    g = s.compile(lambda x, given: clew.func.functional_call(module, given, (x,)))
    s.calls(4, f, x3())
    s.calls(3, g, x3(), {"count": clew.ones(())})
    h = s.compile(module)
    s.calls(3, h, x3())
    s.calls(2, f, x3())


@program
def a_tensor_that_asks_for_a_gradient_later(s):
    weight = s.watch(w3().detach())
    f = s.compile(lambda x: clew.func.grad(lambda point: (weight * point**2).sum())(x))
    s.calls(3, f, x3())
    weight.requires_grad_()
    s.calls(3, f, x3())
    weight.requires_grad_(False)
    s.calls(2, f, x3())
    with clew.no_grad():
        s.calls(2, f, x3())


@program
def a_graph_that_a_derivative_leads_to(s):
    weight = s.watch(w3())
    holder = types.SimpleNamespace(scale=weight * 2)
    f = s.compile(lambda x: clew.func.grad(lambda point: (holder.scale * point**2).sum())(x))
    s.calls(3, f, x3())
    holder.scale = (weight * 5).detach()
    s.calls(3, f, x3())
    holder.scale = weight * 7
    s.calls(2, f, x3())


@program
def a_function_that_is_transformed_changes(s):
    holder = types.SimpleNamespace(function=lambda point: (point**2).sum(), dims=0, size=2.0)
    f = s.compile(lambda x: clew.func.grad(holder.function)(x))
    g = s.compile(lambda x: clew.vmap(lambda row: row * holder.size + row.sum(), out_dims=holder.dims)(x))
    matrix = clew.arange(6.0).view(2, 3)
    s.calls(3, f, x3())
    s.calls(3, g, matrix)
    holder.function = lambda point: (point**3).sum()
    holder.dims = 1
    s.calls(2, f, x3())
    s.calls(2, g, matrix)
    holder.size = 5.0
    s.calls(2, g, matrix)


@program
def an_entry_that_is_set_and_set_back(s):
    one = s.watch(types.SimpleNamespace(scale=2.0))
    table = s.watch({"scale": 2.0})

    class Settings:
        def __init__(self):
            self.scale = 2.0

    settings = s.watch(Settings())

    def function(x):
        before, settings.scale = settings.scale, 5.0
        y = x * settings.scale
        settings.scale = before
        return y * before

    def function_of_a_table(x):
        before = table["scale"]
        table["scale"] = 7.0
        y = x * table["scale"]
        table["scale"] = before
        return y + before + one.scale

    f, g = s.compile(function), s.compile(function_of_a_table)
    for scale in (2.0, 3.0):
        settings.scale = table["scale"] = one.scale = scale
        s.calls(3, f, x3())
        s.calls(3, g, x3())
