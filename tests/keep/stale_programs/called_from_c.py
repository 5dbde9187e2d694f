"""What C calls for an operator, an attribute or a gradient, whatever it is; and classes that the call changes."""

import functools
import types
import typing

import clew
from clew import nn

from .harness import program
from .values import Plain, x3


class Holder:
    def __init__(self):
        self.items = [1.0]
        self.calls = 0

    def first(self, *given):
        self.calls += 1
        return self.items[0]

    def __call__(self, *given):
        return self.items[0]


def changed(s, holder, *functions):
    for function in functions:
        f = s.compile(lambda x, function=function: x * function())
        s.calls(3, f, x3())
        holder.items[0] += 4.0
        s.calls(2, f, x3())


@program
def operators_that_are_bound_methods(s):
    holder = Holder()
    s.watch(holder.__dict__)

    class Made:
        __abs__ = __neg__ = __float__ = __add__ = __radd__ = __len__ = holder.first

    older = Made()
    changed(
        s, holder, lambda: abs(Made()), lambda: -older, lambda: float(Made()), lambda: older + 1, lambda: 1 + Made()
    )


@program
def operators_that_are_objects(s):
    holder = Holder()

    class Made:
        __abs__ = __neg__ = holder

    changed(s, holder, lambda: abs(Made()), lambda: -Made())


@program
def getters_that_are_no_functions(s):
    holder = Holder()

    class Getter:
        __get__ = holder.first

    class Made:
        item = Getter()
        bound = property(holder.first)
        partial = property(functools.partial(lambda items, self: items[0], holder.items))

    changed(s, holder, lambda: Made().item, lambda: Made().bound, lambda: Made().partial)


@program
def a_setter_that_is_a_partial(s):
    log = s.watch([])

    class Made:
        item = property(None, functools.partial(lambda log, self, value: log.append(value), log))

    made = Made()

    def function(x):
        made.item = 2.0
        return x * 2

    s.calls(4, s.compile(function), x3())


@program
def operators_that_are_methods_in_c(s):
    items, log = [1.0, 2.0], s.watch([])

    class Made:
        __len__ = items.__len__
        __init__ = log.append

    f = s.compile(lambda x: x * len(object.__new__(Made)))
    g = s.compile(lambda x: (Made(1.0), x * 2)[1])
    for function in (f, g):
        s.calls(3, function, x3())
        items.append(3.0)
        s.calls(2, function, x3())


@program
def a_count_of_a_class(s):
    class Net(nn.Module):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return x * type(self).calls

        @classmethod
        def count(cls, x):
            cls.calls += 1
            return x

    net = Net()
    f, g, h = s.compile(net), s.compile(lambda x: net.count(x) * Net.calls), s.compile(lambda x: counted(net, x))

    def counted(net, x):
        net.__class__.calls = net.__class__.__mro__[0].calls + 1
        return x

    for function in (f, g, h):
        s.calls(4, function, x3())
    s.call(lambda: Net.calls)


def with_hook(s, hook, change, after=False):
    weight = s.watch(clew.ones(3, requires_grad=True))
    (weight.register_post_accumulate_grad_hook if after else weight.register_hook)(hook)

    def function(x):
        weight.grad = None
        (weight * x).sum().backward()
        return weight.grad.clone()

    f = s.compile(function)
    for i in range(6):
        s.call(f, x3())
        change(i)


class Scales:
    def __init__(self):
        self.scale, self.calls = 2.0, 0

    def hook(self, gradient):
        self.calls += 1
        return gradient * self.scale

    def after(self, weight):
        self.calls += 1
        weight.grad.mul_(self.scale)

    def __call__(self, gradient):
        return gradient * self.scale


@program
def a_hook_that_is_a_bound_method(s):
    for after in (False, True):
        one = Scales()
        s.watch(one.__dict__)
        with_hook(s, one.after if after else one.hook, lambda i, one=one: i == 3 and setattr(one, "scale", 5.0), after)


@program
def a_hook_that_is_an_object(s):
    one = Scales()
    with_hook(s, one, lambda i: i == 3 and setattr(one, "scale", 5.0))


@program
def a_hook_that_is_a_partial(s):
    one = Scales()
    hook = functools.partial(lambda one, gradient: gradient * one.scale, one)
    with_hook(s, hook, lambda i: i == 3 and setattr(one, "scale", 5.0))


@program
def a_hook_that_is_in_c(s):
    log = s.watch([])
    with_hook(s, log.append, lambda i: None)


@program
def calls_until_a_sentinel(s):
    numbers = iter([1.0, 2.0, 3.0, 4.0])
    f = s.compile(lambda x: x * next(iter(numbers.__next__, None)))
    s.calls(4, f, x3())


@program
def a_slice_of_objects(s):
    end = Plain(n=1)
    number = type("Number", (), {"__index__": lambda self: end.n})()
    part = slice(0, number)
    f = s.compile(lambda x: x * sum([1.0, 2.0, 3.0][part]))
    s.calls(3, f, x3())
    end.n = 3
    s.calls(2, f, x3())


@program
def an_attribute_of_an_alias(s):
    class Made:
        items: typing.ClassVar = [1.0]
        factor = 1.0
        __class_getitem__ = classmethod(types.GenericAlias)

    f = s.compile(lambda x: x * Made[int].factor * Made[int].items[0])
    s.calls(3, f, x3())
    Made.factor = 5.0
    s.calls(2, f, x3())
    Made.items[0] = 7.0
    s.calls(2, f, x3())


@program
def a_getter_of_a_module_that_is_no_function(s):
    module, names = types.ModuleType("made"), {"scale": 1.0}
    module.__getattr__ = names.__getitem__
    f = s.compile(lambda x: x * module.scale)
    s.calls(3, f, x3())
    names["scale"] = 5.0
    s.calls(2, f, x3())


@program
def a_method_of_a_tensor_that_is_set(s):
    tensor = x3()
    tensor.total = lambda: 2.0
    tensor.sum = lambda: 3.0
    f = s.compile(lambda x: x * tensor.total() * tensor.sum())
    s.calls(3, f, x3())
    tensor.sum = lambda: 5.0
    s.calls(2, f, x3())


@program
def objects_in_tuples_of_a_set(s):
    class Ordered:
        def __init__(self, n):
            self.n = n

        def __lt__(self, other):
            return self.n < other.n

    first, second = Ordered(1.0), Ordered(2.0)
    pairs = {(1, first), (1, second)}
    f = s.compile(lambda x: x * max(pairs)[1].n)
    s.calls(3, f, x3())
    first.n = 5.0
    s.calls(2, f, x3())
