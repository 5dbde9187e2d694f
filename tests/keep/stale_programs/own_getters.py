"""Classes that read attributes by a method of their own, and attributes that functions do not have."""

import clew
from clew import nn

from .harness import program
from .values import x3


class ByObject:
    def __init__(self):
        self.k = 2.0

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class BySuper(ByObject):
    def __getattribute__(self, name):
        return super().__getattribute__(name)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2.0

    def __getattribute__(self, name):
        return super().__getattribute__(name)

    def forward(self, x):
        return x * self.k * (1.0 if self.training else 0.5)


class WithADefault(ByObject):
    def __getattribute__(self, name):
        try:
            return super().__getattribute__(name)
        except AttributeError:
            return 3.0


@program
def attributes_by_a_getter_of_the_class(s):
    for one in (ByObject(), BySuper()):
        f = s.compile(lambda x, one=one: x * one.k)
        s.calls(3, f, x3())
        one.k = 7.0
        s.calls(2, f, x3())


@program
def a_module_with_a_getter(s):
    module = Scaled()
    f = s.compile(lambda x: module(x))
    s.calls(3, f, x3())
    module.k = 7.0
    s.calls(2, f, x3())
    module.eval()
    s.calls(2, f, x3())


@program
def an_attribute_that_a_getter_makes_up(s):
    one = WithADefault()
    f = s.compile(lambda x: x * one.nothing)
    s.calls(3, f, x3())
    one.nothing = 7.0
    s.calls(2, f, x3())


@program
def an_attribute_that_a_function_does_not_have(s):
    def scaled(x):
        return x

    f = s.compile(lambda x: scaled(x) * getattr(scaled, "gain", 1.0))
    g = s.compile(lambda x: scaled(x) * (2.0 if hasattr(scaled, "gain") else 3.0))
    s.calls(3, f, x3())
    s.calls(3, g, x3())
    scaled.gain = 7.0
    s.calls(2, f, x3())
    s.calls(2, g, x3())
    scaled.__dict__ = {"gain": 8.0}
    s.calls(2, f, x3())
    del scaled.gain
    s.calls(2, f, x3())
    s.calls(2, g, x3())


@program
def an_attribute_that_a_method_does_not_have(s):
    class Has:
        def method(self, x):
            return x

    one = Has()

    def function(x):
        try:
            return one.method(x) * one.method.gain
        except AttributeError:
            return x

    f = s.compile(function)
    s.calls(3, f, x3())
    Has.method.gain = 7.0
    s.calls(2, f, x3())


@program
def an_argument_that_was_made_for_inference(s):
    weight = clew.ones(3, requires_grad=True)
    functions = [
        lambda x: weight * x,
        lambda x: x.add_(1.0),
        lambda x: (x * 2, x.detach().is_inference()),
    ]
    for f in map(s.compile, functions):
        s.calls(3, f, x3())
        with clew.inference_mode():
            x = x3()
        s.call(f, x)
        s.call(f, x3())
