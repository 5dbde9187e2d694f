"""Tensors that share memory, as arguments, captures and results."""

import clew

from .harness import program
from .values import x3


@program
def one_tensor_twice(s):
    @s.compile
    def f(x, y):
        x.mul_(2)
        return x + y, x is y

    s.calls(2, f, x3(), x3())
    x = s.watch(x3())
    s.calls(2, f, x, x)
    s.call(f, x3(), x)


@program
def overlapping_arguments(s):
    @s.compile
    def f(x, y):
        x.mul_(2)
        return x + y

    s.calls(2, f, x3(), x3())
    base = s.watch(clew.arange(4.0))
    s.calls(2, f, base[:3], base[1:])
    s.calls(2, f, base[1:], base[:3])
    s.call(f, x3(), x3())


@program
def an_alias_of_a_captured_tensor(s):
    weight = s.watch(clew.ones(3))

    @s.compile
    def f(x):
        x.add_(1)
        return weight * 2 + x

    s.calls(2, f, x3())
    s.calls(2, f, weight)
    s.calls(2, f, weight.view(3))
    s.call(f, weight.detach())
    s.call(f, x3())


@program
def a_captured_tensor_as_argument(s):
    weight = clew.ones(3, requires_grad=True)
    f = s.compile(lambda x: (x * weight).sum())
    s.calls(2, f, x3())
    s.calls(2, f, weight)
    s.call(f, weight)
    clew.autograd.backward(s.given[-1])
    s.note(weight.grad)


@program
def the_argument_itself(s):
    f = s.compile(lambda x, y: x if x.sum() > 0 else y)
    for factor in (1.0, 2.0, -1.0, -2.0):
        x, y = x3() * factor, x3()
        result = s.call(f, x, y)
        s.note(result is x, result is y)


@program
def a_captured_tensor_itself(s):
    weight = clew.ones(3)
    f = s.compile(lambda x: (weight, x, x.view(3), weight.view(3)))
    for _ in range(3):
        x = x3()
        result = s.call(f, x)
        s.note(result[0] is weight, result[1] is x)
        result[2].add_(1)
        result[3].add_(10)
        s.note(x, weight)


@program
def views_of_arguments(s):
    f = s.compile(lambda x: (x.t(), x[0], x.view(-1)[1:3]))
    for _ in range(3):
        x = clew.arange(4.0).view(2, 2)
        views = s.call(f, x)
        s.note([one._version for one in views], [one._is_view() for one in views])
        x.add_(1)
        s.note(views)
        views[1].mul_(3)
        s.note(x)


@program
def results_that_share_memory(s):
    def plain(x):
        y = x * 2
        return y, y[0], y.detach(), y.view(3)

    f = s.compile(plain)
    for _ in range(3):
        results = s.call(f, x3())
        results[0].add_(1)
        results[1].mul_(7)
        s.note([one._version for one in results])


@program
def a_result_that_is_given_twice(s):
    def plain(x):
        y = x * 2
        return [y, y, {"y": y}]

    f = s.compile(plain)
    for _ in range(3):
        a, b, c = s.call(f, x3())
        s.note(a is b, b is c["y"])


@program
def an_expanded_result(s):
    f = s.compile(lambda x: (x.sum().expand(3), x.broadcast_to(2, 3)))
    for factor in range(3):
        s.call(f, x3() * factor)


@program
def earlier_results_stay(s):
    f = s.compile(lambda x: (x * 2, (x + 1).view(3, 1), x.sum()))
    for factor in range(6):
        s.call(f, x3() * factor)


@program
def results_that_the_caller_writes(s):
    f = s.compile(lambda x: (x * 2, clew.zeros(3), clew.tensor([1.0, 2.0])))
    for factor in range(4):
        y, z, c = s.call(f, x3() * factor)
        y.fill_(-1.0)
        z.add_(5)
        c.mul_(3)
    s.note()


@program
def results_that_come_back_as_arguments(s):
    f = s.compile(lambda x, y: (x + y, y * 2))
    x, y = x3(), x3()
    for _ in range(5):
        x, y = s.call(f, x, y)


@program
def two_captured_tensors_that_become_one(s):
    a, b = s.watch(clew.ones(3), clew.zeros(3)), None
    b = clew.zeros(3)

    @s.compile
    def f(x):
        a.add_(x)
        return b * 2

    s.calls(2, f, x3())
    b.data = a.data
    s.calls(2, f, x3())
    b.data = clew.zeros(3)
    s.call(f, x3())


@program
def a_view_from_before_the_call(s):
    base = s.watch(clew.arange(6.0))
    view = base.view(2, 3)[1]

    @s.compile
    def f(x):
        view.add_(x)
        return base.sum() + view[0]

    s.calls(2, f, x3())
    base.mul_(2)
    s.call(f, x3())
    s.note(view)
