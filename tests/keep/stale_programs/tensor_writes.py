"""Tensors that are written to, and their versions."""

import clew

from .harness import program
from .values import x3


@program
def results_that_come_back_and_are_written(s):
    @s.compile
    def f(x):
        x.mul_(2)
        return x + 1

    x = x3()
    for _ in range(5):
        x = s.call(f, x)


@program
def writes_to_arguments(s):
    @s.compile
    def f(x, y):
        x.add_(y)
        x[0] = 7
        y.data.mul_(2)
        return x._version, x * y

    x, y = s.watch(x3()), s.watch(x3())
    s.calls(3, f, x, y)
    s.call(f, x3(), y)


@program
def versions_of_results(s):
    def plain(x):
        y = x * 2
        y.add_(1)
        y[0] = 3
        return y, y._version

    f = s.compile(plain)
    for _ in range(3):
        y, _ = s.call(f, x3())
        y.add_(1)
        s.note(y._version)


@program
def a_version_that_it_asks(s):
    weight = clew.ones(3)
    f = s.compile(lambda x: x * weight._version)
    s.calls(2, f, x3())
    weight.add_(1)
    s.call(f, x3())


@program
def a_write_that_a_graph_forbids(s):
    weight = clew.ones(3, requires_grad=True)
    state = clew.ones(3)

    @s.compile
    def f(x):
        state.add_(x)
        return (state * weight).sum()

    losses = [s.call(f, x3()) for _ in range(3)]
    for loss in losses:
        s.call(loss.backward)
    s.note(weight.grad)


@program
def out_of_an_operation(s):
    out = s.watch(clew.zeros(3))

    @s.compile
    def f(x):
        return clew.mul(x, 2, out=out) is out, out + 1

    s.calls(2, f, x3())
    out.data = clew.zeros(3, dtype=clew.float64)
    s.call(f, x3())


@program
def constants_that_it_makes_and_writes(s):
    @s.compile
    def f(x):
        c = clew.tensor([1.0, 2.0, 3.0])
        c += x
        d = clew.zeros(3)
        d[1] = x.sum()
        return c, d

    for factor in range(4):
        s.call(f, x3() * factor)


@program
def an_index_put_into_an_older_tensor(s):
    table, at = s.watch(clew.zeros(3)), clew.tensor([0, 0])

    @s.compile
    def f(x):
        table.index_put_((at,), x[:2], accumulate=True)
        table[at] *= 2
        return table.sum()

    s.calls(2, f, x3())
    at.copy_(clew.tensor([1, 2]))
    s.call(f, x3())
    at.fill_(5)
    s.call(f, x3())
