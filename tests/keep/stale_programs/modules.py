"""Modules, their parameters, buffers and options, that change between calls."""

import copy

import clew
from clew import nn

from .harness import program
from .values import row3


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

    s.calls(3, f, row3())
    model.eval()
    s.calls(2, f, row3())


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
    s.calls(2, f, row3())
    model.weight = nn.Parameter(clew.ones(2, 3))
    s.calls(2, f, row3())
    del model.bias
    model.bias = None
    s.calls(2, f, row3())


@program
def a_parameter_in_the_dict_of_parameters(s):
    model = s.watch(nn.Linear(3, 2))
    f = s.compile(lambda x: model(x).sum())
    s.calls(2, f, row3())
    model._parameters["weight"] = nn.Parameter(clew.ones(2, 3))
    s.call(f, row3())


@program
def tied_weights(s):
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    s.watch(a, b)

    @s.compile
    def f(x):
        loss = b(a(x)).sum()
        loss.backward()
        return loss

    s.calls(3, f, row3())
    b.weight = a.weight
    s.calls(2, f, row3())


@program
def a_layer_that_is_replaced(s):
    model = s.watch(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    f = s.compile(lambda x: model(x))
    s.calls(2, f, row3())
    model[1] = nn.Tanh()
    s.call(f, row3())
    model.append(nn.Sigmoid())
    s.call(f, row3())
    del model[0]
    s.call(f, row3())


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
    s.calls(4, f, row3())
    model.shift = clew.ones(3)
    model.seen.fill_(10)
    s.calls(2, f, row3())


@program
def weights_that_are_loaded(s):
    model = s.watch(nn.Linear(3, 2))
    f = s.compile(lambda x: model(x))
    before = copy.deepcopy(model.state_dict())
    s.calls(2, f, row3())
    with clew.no_grad():
        model.weight.zero_()
    s.call(f, row3())
    model.load_state_dict(before)
    s.call(f, row3())
    model.load_state_dict({name: one * 2 for name, one in before.items()}, assign=True)
    s.call(f, row3())


@program
def a_model_in_another_dtype(s):
    model = s.watch(nn.Linear(3, 2))
    f = s.compile(lambda x: model(x.to(model.weight.dtype)))
    s.calls(2, f, row3())
    model.double()
    s.calls(2, f, row3())


@program
def a_frozen_layer(s):
    model = s.watch(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)))

    @s.compile
    def f(x):
        model(x).sum().backward()

    s.calls(3, f, row3())
    model[0].requires_grad_(False)
    s.calls(2, f, row3())
    model[0].requires_grad_(True)
    model.zero_grad()
    s.calls(2, f, row3())


@program
def gradients_set_to_zero_or_none(s):
    model = s.watch(nn.Linear(3, 1))

    @s.compile
    def f(x, to_none):
        model.zero_grad(set_to_none=to_none)
        model(x).sum().backward()
        return model.weight.grad

    for to_none in (True, True, False, False, True):
        s.call(f, row3(), to_none)
    model.bias.grad = None
    s.call(f, row3(), False)


@program
def a_compiled_module(s):
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    compiled = s.compile(model)
    s.calls(3, compiled, row3())
    compiled.eval()
    s.calls(2, compiled, row3())
    model.register_forward_hook(lambda module, inputs, output: output + 100)
    s.calls(2, compiled, row3())
    model[0].bias = None
    s.call(compiled, row3())


@program
def a_parametrization(s):
    model = nn.Linear(3, 2)
    f = s.compile(lambda x: model(x))
    s.calls(2, f, row3())

    class Double(nn.Module):
        factor = 2.0

        def forward(self, weight):
            return weight * self.factor

    nn.utils.parametrize.register_parametrization(model, "weight", Double())
    s.calls(2, f, row3())
    Double.factor = 5.0
    s.call(f, row3())


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
