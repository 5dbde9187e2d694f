"""Floats that are given, read or set: handed on, compared, and used in other ways, with other values in each call."""

import collections
import dataclasses
import functools
import math

import clew
from clew import nn

from .harness import program
from .values import Plain, w3, x3

VALUES = [2.0, 0.5, 2.0, -1.0, 0.0, -0.0, math.nan, 0.5, 1.0]
RATE = 0.5


def each(s, f, *arguments):
    for value in VALUES:
        s.call(f, *arguments, value)


@program
def a_float_times_a_tensor(s):
    each(s, s.compile(lambda x, t: (x * t, t)), x3())


@program
def a_float_in_a_graph(s):
    w = s.watch(w3())

    def step(x, t):
        w.grad = None
        loss = (w * t + x / (t + 1.0) - t).square().sum()
        loss.backward()
        return loss

    each(s, s.compile(step), x3())


@program
def a_float_as_an_exponent(s):
    w = s.watch(w3())

    def step(t):
        w.grad = None
        (w.abs() ** t).sum().backward()

    each(s, s.compile(step))


@program
def a_float_that_decides(s):
    each(s, s.compile(lambda x, t: x * t if t > 0.7 else x - t if t else x / 2), x3())


@program
def a_float_beside_an_equal_constant(s):
    f, x = s.compile(lambda x, t: x * t + 0.5 * x + RATE), x3()
    for value in (0.5, RATE, 2.0, 0.5, 3.0):
        s.call(f, x, value)


@program
def a_float_in_containers(s):
    each(s, s.compile(lambda x, t: ([t, {"t": t}], x * max([t, 1.5]), sorted([t, 1.0])[0])), x3())


@program
def a_float_kept_by_name(s):
    holder = s.watch(Plain(rate=1.0, seen=[]))

    def f(x, t):
        holder.rate = t
        holder.seen.append(t)
        return x * holder.rate

    each(s, s.compile(f), x3())


@program
def a_float_kept_and_read_by_another(s):
    holder = s.watch(Plain(rate=1.0))

    def keep(t):
        holder.rate = t

    kept, used, x = s.compile(keep), s.compile(lambda x: x * holder.rate), x3()
    for value in VALUES:
        s.call(kept, value)
        s.call(used, x)


@program
def a_float_by_name(s):
    f, x = s.compile(lambda x, *, t=1.0, u=2.0: x * t + u), x3()
    s.calls(2, f, x)
    for value in VALUES:
        s.call(f, x, t=value)
        s.call(f, x, u=value)
        s.call(f, x, u=value, t=value)


@program
def a_float_as_data(s):
    each(s, s.compile(lambda x, t: x + clew.tensor([t, 1.0, t]) + clew.full((3,), t)), x3())


@program
def a_float_of_a_closure_made_by_the_call(s):
    def f(x, t):
        scaled = [lambda y: y * t, lambda y: y + -t]
        return [one(x) for one in scaled]

    each(s, s.compile(f), x3())


@program
def a_float_generated(s):
    def f(x, t):
        def powers():
            yield t
            yield t * t

        return [x * one for one in powers()]

    each(s, s.compile(f), x3())


@program
def a_read_float_as_an_operand(s):
    f = s.compile(lambda x: (x / x.abs().max().item(), x * x.sum().item() + 1))
    for value in (1.0, 2.0, 4.0, -1.0, 3.0):
        s.call(f, x3() * value)


@program
def a_read_float_in_a_graph(s):
    w = s.watch(w3())

    def step(x):
        w.grad = None
        (w * x.mean().item()).square().sum().backward()

    f = s.compile(step)
    for value in (1.0, 2.0, 4.0, -1.0, 3.0):
        s.call(f, x3() * value)


@program
def a_rate_set_by_the_step(s):
    w = s.watch(w3())
    optimizer = clew.optim.SGD([w], lr=0.1, momentum=0.5)

    def step(rate):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        w.square().sum().backward()
        optimizer.step()

    f = s.compile(step)
    for rate in (0.1, 0.2, 0.1, 0.05, 0.3):
        s.call(f, rate)


@dataclasses.dataclass
class Outcome:
    """What a call gives."""

    loss: object
    rate: float
    parts: list


@program
def a_dataclass_that_is_given(s):
    def f(x, t):
        loss = (x * t).sum()
        return Outcome(loss, t, [loss, x])

    each(s, s.compile(f), x3())


@program
def a_deque_that_is_appended_to(s):
    window = s.watch(collections.deque(maxlen=3))

    def f(x, t):
        window.append(t)
        window.append((x * t).sum().item())

    each(s, s.compile(f), x3())


@program
def a_deque_that_is_read(s):
    window = collections.deque([1.0], maxlen=2)
    f, x = s.compile(lambda x: x * window[0] + len(window)), x3()
    s.calls(2, f, x)
    for value in (2.0, 3.0, 4.0):
        window.append(value)
        s.call(f, x)
    f = s.compile(lambda x: (window.append(x.sum().item()), x * sum(window)))
    s.calls(4, f, x)


@program
def geometry_by_methods(s):
    w, x = clew.ones(3), x3()
    asked = [
        s.compile(lambda x: x * w.size(0)),
        s.compile(lambda x: x * len(w)),
        s.compile(lambda x: x * w.numel()),
        s.compile(lambda x: x * w.dim()),
        s.compile(lambda x: x * w.stride(0)),
        s.compile(lambda x: (x, w.is_contiguous())),
        s.compile(lambda x: x.sum() + w.contiguous().sum()),
    ]
    for data in (clew.ones(3), clew.ones(5), clew.ones(4, 2).t(), clew.ones(8)[::2]):
        w.data = data
        for f in asked:
            s.calls(2, f, x)


@program
def a_gradient_zeroed_in_place(s):
    w = s.watch(w3())
    w.grad = clew.ones(3)

    def step(x):
        if w.grad.grad_fn is not None:
            w.grad = w.grad.detach()
        w.grad.zero_()
        (w * x).sum().backward()

    f = s.compile(step)
    s.calls(3, f, x3())
    w.grad = w * 2
    s.calls(3, f, x3())
    w.grad = clew.ones(3)
    s.calls(2, f, x3())


@program
def a_hook_that_keeps_what_it_sees(s):
    w, seen = s.watch(w3()), s.watch([])

    def step(x, t):
        w.grad = None
        y = w * x
        y.register_hook(lambda gradient: gradient * t)
        y.register_hook(lambda gradient: seen.append(gradient.sum().item()))
        y.sum().backward()

    each(s, s.compile(step), x3())


@program
def a_list_that_was_read(s):
    """Handed on whole, and in all ways in which its numbers may be had."""
    seen = s.watch([])
    ways = [
        lambda x: (x * 2).tolist(),
        lambda x: ({"a": (x * 2).tolist()}, seen.append((x + 1).tolist())),
        lambda x: (lambda values: (values, values))((x * 2).tolist()),
        lambda x: (x * 2).tolist()[0],
        lambda x: (x * 2).tolist()[1:],
        lambda x: [*(x * 2).tolist()],
        lambda x: [one + 1 for one in (x * 2).tolist()],
        lambda x: list((x * 2).tolist()),
        lambda x: tuple(zip((x * 2).tolist(), [1, 2, 3], strict=True)),
        lambda x: sum((x * 2).tolist()),
        lambda x: sorted((x * 2).tolist(), reverse=True),
        lambda x: (lambda a, b, c: (a, b))(*(x * 2).tolist()),
        lambda x: clew.tensor((x * 2).tolist()) + x,
        lambda x: x if (x * 2).tolist() == [2.0, 4.0, 6.0] else -x,
        lambda x: f"{(x * 2).tolist()}",
        lambda x: len((x * 2).tolist()),
        lambda x: (x > 1).tolist(),
        lambda x: (x[:, None] * x).tolist(),
        lambda x: x.sum().tolist(),
    ]

    def changed(x):
        values, others = (x * 2).tolist(), [0.0]
        values.append(1.0)
        return values, others

    def extended(x):
        values, others = (x * 2).tolist(), [0.0]
        others.extend(values)
        return others

    def replaced(x):
        values, others = (x * 2).tolist(), [0.0, 1.0]
        others[:1] = values
        values[0] = 7.0
        del values[1]
        return others, values

    for f in map(s.compile, [*ways, changed, extended, replaced]):
        for value in (1.0, 1.0, 2.0, -1.0):
            s.call(f, x3() * value)


@program
def which_float_it_is(s):
    rates = [3.0, 3.0]
    f, x = s.compile(lambda x, rate: x * (1 if rate is rates[0] else 2)), x3()
    for rate in (rates[0], rates[1], rates[0], float("3")):
        s.calls(2, f, x, rate)


@program
def which_float_that_is_not_a_number_it_is(s):
    missing = [float("nan")]
    f, x = s.compile(lambda x, value: (x * 1, value in missing)), x3()
    for value in (missing[0], float("nan"), 1.0, missing[0]):
        s.calls(2, f, x, value)


@program
def numbers_that_an_object_gives_when_it_is_called(s):
    class Total:
        def __init__(self):
            self.seen = []

        def __call__(self, x):
            return x.sum().item()

    total = Total()
    s.watch(total.seen)

    def kept(x):
        total.seen.append(total(x))
        return total.seen[-1]

    for function in (
        lambda x: total(x),
        lambda x: [total(x), x * total(x)],
        lambda x: x * max(total(x), 2.0),
        lambda x: x * math.exp(total(x)),
        lambda x: x if total(x) > 3 else -x,
        lambda x: sorted([x, x * 2, x[:1]], key=total),
        lambda x: x * sum(map(total, [x, x])),
        lambda x: functools.reduce(lambda a, b: a + b, [total(x), 1.0]),
        lambda x: functools.partial(total, x)(),
        lambda x: max([x, -x], key=functools.partial(total)),
        lambda x: f"{total(x)}",
        kept,
    ):
        f = s.compile(function)
        for factor in (1.0, 1.0, 1.0, 2.0, -1.0, 0.5, 0.0):
            s.call(f, x3() * factor)


@program
def numbers_that_a_module_gives(s):
    class Loss(nn.Module):
        def forward(self, x):
            return x.square().sum().item()

    loss = Loss()
    hooked = Loss()
    hooked.register_forward_hook(lambda module, given, result: result * 2)
    for function in (
        lambda x: loss(x),
        lambda x: x * loss(x),
        lambda x: hooked(x),
        lambda x: x * min(hooked(x), loss(x)),
        lambda x: round(loss(x), 2),
    ):
        f = s.compile(function)
        for factor in (1.0, 1.0, 1.0, 2.0, -1.0, 0.5):
            s.call(f, x3() * factor)
