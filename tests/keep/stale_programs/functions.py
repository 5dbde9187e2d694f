"""Cells, defaults, code and attributes of functions that change between calls."""

import clew

from .harness import program
from .values import x3


@program
def cell_contents_through_the_closure(s):
    factor = 2.0

    def plain(x):
        return x * factor

    f, x = s.compile(plain), x3()
    s.calls(2, f, x)
    plain.__closure__[0].cell_contents = 8.0
    s.call(f, x)


@program
def defaults_that_are_replaced(s):
    def plain(x, factor=2.0):
        return x * factor

    f, x = s.compile(plain), x3()
    s.calls(2, f, x)
    plain.__defaults__ = (6.0,)
    s.calls(2, f, x)
    plain.__defaults__ = None
    s.call(f, x)


@program
def keyword_defaults_in_place(s):
    def plain(x, *, factor=2.0):
        return x * factor

    f, x = s.compile(plain), x3()
    s.calls(2, f, x)
    plain.__kwdefaults__["factor"] = 6.0
    s.calls(2, f, x)
    plain.__kwdefaults__ = {"factor": 7.0}
    s.call(f, x)


@program
def defaults_of_a_function_that_it_calls(s):
    def inner(x, factor=2.0, *, shift=1.0):
        return x * factor + shift

    f, x = s.compile(lambda x: inner(x)), x3()
    s.calls(2, f, x)
    inner.__defaults__ = (3.0,)
    s.call(f, x)
    inner.__kwdefaults__["shift"] = 5.0
    s.call(f, x)


@program
def a_mutable_default(s):
    def plain(x, seen=[]):  # noqa: B006
        seen.append(len(seen))
        return x * len(seen)

    f = s.compile(plain)
    s.watch(plain.__defaults__)
    s.calls(4, f, x3())


@program
def a_default_tensor_that_is_written(s):
    def plain(x, factor=clew.ones(3)):  # noqa: B008
        return x * factor

    f, x = s.compile(plain), x3()
    s.calls(2, f, x)
    plain.__defaults__[0].fill_(5.0)
    s.call(f, x)


@program
def code_that_is_replaced(s):
    def plain(x):
        return x * 2

    f, x = s.compile(plain), x3()
    s.calls(2, f, x)
    plain.__code__ = (lambda x: x * 20).__code__
    s.calls(2, f, x)


@program
def code_of_a_function_that_it_calls(s):
    def inner(x):
        return x * 2

    f, x = s.compile(lambda x: inner(x) + 1), x3()
    s.calls(2, f, x)
    inner.__code__ = (lambda x: x * 20).__code__
    s.calls(2, f, x)


@program
def an_attribute_of_a_function(s):
    def inner(x):
        return x * inner.factor

    inner.factor = 2.0
    f, x = s.compile(lambda x: inner(x)), x3()
    s.calls(2, f, x)
    inner.factor = 3.0
    s.call(f, x)
    del inner.factor
    s.call(f, x)


@program
def what_a_keyword_default_holds(s):
    def plain(x, *, factors=[2.0], options={"shift": 1.0}):  # noqa: B006
        return x * factors[0] + options["shift"]

    f, x = s.compile(plain), x3()
    s.calls(2, f, x)
    plain.__kwdefaults__["factors"][0] = 6.0
    s.calls(2, f, x)
    plain.__kwdefaults__["options"]["shift"] = 3.0
    s.calls(2, f, x)
