"""Counts, hidden states, caches and averages that a call leaves for the next."""

import collections

import clew
from clew import nn

from .harness import program
from .values import Plain, x3


@program
def a_count(s):
    state = s.watch(Plain(calls=0))

    @s.compile
    def f(x):
        state.calls += 1
        return x * 2

    s.calls(4, f, x3())
    state.calls = 100
    s.calls(2, f, x3())
    state.calls = 1.5
    s.call(f, x3())


@program
def a_count_that_is_used(s):
    state = s.watch(Plain(calls=0))

    @s.compile
    def f(x):
        state.calls += 1
        return x * state.calls

    s.calls(5, f, x3())


@program
def a_warm_up(s):
    state = s.watch(Plain(calls=0))

    @s.compile
    def f(x):
        state.calls += 1
        return x * 2 if state.calls < 4 else x * 3

    s.calls(7, f, x3())


@program
def a_hidden_state(s):
    state = s.watch(Plain(h=clew.zeros(3)))

    @s.compile
    def f(x):
        state.h = (state.h * 0.5 + x).detach()
        return state.h.sum()

    s.calls(4, f, x3())
    state.h = clew.ones(3)
    s.calls(2, f, x3() * 2)
    state.h = clew.ones(1)
    s.calls(2, f, x3())


@program
def a_hidden_state_of_two(s):
    cell = nn.LSTMCell(3, 4)
    state = Plain(h=(clew.zeros(1, 4), clew.zeros(1, 4)))
    s.watch(state, cell)

    @s.compile
    def f(x):
        h, c = cell(x, state.h)
        state.h = h.detach(), c.detach()
        loss = h.sum()
        loss.backward()
        return loss.item()

    x = x3().view(1, 3)
    for factor in range(5):
        s.call(f, x * factor)
    state.h = clew.ones(1, 4), state.h[1]
    s.calls(2, f, x)
    first = state.h[0]
    state.h = first, first
    s.calls(2, f, x)
    for one in ((first,), (first, first, first), first, None, [first, first], (first, 1.0), (clew.ones(2, 4), first)):
        state.h = one
        s.calls(2, f, x)
    state.h = clew.zeros(1, 4), clew.zeros(1, 4)
    s.calls(3, f, x)


@program
def a_hidden_state_of_two_that_is_seen_elsewhere(s):
    state = Plain(h=(clew.zeros(3), clew.ones(3)), last=None)
    state.last = state.h[1]
    s.watch(state)

    @s.compile
    def f(x):
        a, b = state.h
        state.h = (a * 0.5 + x).detach(), b
        return len(state.h) * a.sum() + state.last.sum() * (b is state.last)

    s.calls(4, f, x3())
    state.last = clew.full((3,), 5.0)
    s.calls(3, f, x3())
    state.h = state.h[0], state.last
    s.calls(3, f, x3())
    state.h[1].add_(1)
    s.calls(2, f, x3())


@program
def a_hidden_state_of_a_network(s):
    cell = nn.RNNCell(3, 4)
    state = Plain(h=clew.zeros(1, 4))
    s.watch(state, cell)

    @s.compile
    def f(x):
        out = cell(x, state.h)
        state.h = out.detach()
        loss = out.sum()
        loss.backward()
        return loss.item()

    for factor in range(5):
        s.call(f, x3().view(1, 3) * factor)
    cell.zero_grad()
    s.calls(2, f, x3().view(1, 3))


@program
def a_cache_by_shape(s):
    cache = s.watch({})

    @s.compile
    def f(x):
        if x.shape not in cache:
            cache[x.shape] = clew.arange(float(x.numel()))
        return x * cache[x.shape]

    s.calls(3, f, x3())
    s.calls(2, f, clew.ones(4))
    cache[clew.Size([3])] = clew.ones(3)
    s.call(f, x3())
    cache.clear()
    s.call(f, x3())


@program
def a_moving_average(s):
    model, average = nn.Linear(3, 2), collections.OrderedDict()
    for name, one in model.named_parameters():
        average[name] = one.detach().clone()
    s.watch(model, average)

    @s.compile
    def f(decay):
        with clew.no_grad():
            for name, one in model.named_parameters():
                average[name].mul_(decay).add_(one, alpha=1 - decay)

    for decay in (0.9, 0.9, 0.5):
        s.call(f, decay)
        with clew.no_grad():
            model.weight.mul_(2)
    average["bias"] = clew.zeros(2)
    s.call(f, 0.9)


@program
def a_moving_average_in_a_dict_of_results(s):
    average = s.watch({"m": clew.zeros(3)})

    @s.compile
    def f(x):
        average["m"] = 0.9 * average["m"] + 0.1 * x
        return average["m"] * 2

    for factor in range(5):
        s.call(f, x3() * factor)
