"""Errors that a function raises or catches."""

import clew

from .harness import program
from .values import x3


@program
def an_assertion(s):
    @s.compile
    def f(x):
        assert (x > 0).all(), "positive"
        return x.log()

    s.calls(2, f, x3())
    s.call(f, -x3())
    s.call(f, x3() * 2)


@program
def an_error_that_is_raised_later(s):
    @s.compile
    def f(x, y):
        if x.sum().item() > 100:
            raise ValueError("too much")
        return x @ y

    s.calls(2, f, x3(), x3())
    s.call(f, x3(), clew.ones(4))
    s.call(f, x3() * 100, x3())
    s.call(f, x3().double(), x3())
    s.call(f, x3(), x3())


@program
def an_error_that_is_caught(s):
    @s.compile
    def f(x, y):
        try:
            return x + y
        except RuntimeError:
            return x - y.sum()

    s.calls(2, f, x3(), clew.ones(3))
    s.calls(2, f, x3(), clew.ones(4))
    s.calls(2, f, x3() * 2, clew.ones(4))


@program
def an_error_of_python_that_is_caught(s):
    table = {}

    @s.compile
    def f(x):
        try:
            return x * table["factor"]
        except KeyError:
            return x

    s.calls(2, f, x3())
    table["factor"] = 2.0
    s.calls(2, f, x3())
    del table["factor"]
    s.call(f, x3())


@program
def an_attribute_error_that_is_caught(s):
    class Settings:
        pass

    settings = Settings()

    @s.compile
    def f(x):
        try:
            return x * settings.factor
        except AttributeError:
            return x

    s.calls(2, f, x3())
    settings.factor = 4.0
    s.call(f, x3())


@program
def an_error_after_a_write(s):
    total, index = s.watch(clew.zeros(3), clew.tensor([0])), clew.tensor([1])

    @s.compile
    def f(x):
        total.add_(x)
        return x[index] * 2

    s.calls(2, f, x3())
    index.fill_(9)
    s.call(f, x3())
    index.fill_(0)
    s.call(f, x3())


@program
def an_out_of_bounds_index_caught(s):
    index = clew.tensor([1])

    @s.compile
    def f(x):
        try:
            return x[index] * 2
        except IndexError:
            return x * 0

    s.calls(2, f, x3())
    index.fill_(9)
    s.calls(2, f, x3())
    index.fill_(2)
    s.call(f, x3())


@program
def the_text_of_an_error_from_before(s):
    error = ValueError("first")
    f, x = s.compile(lambda x: (x * 1, str(error))), x3()
    s.calls(2, f, x)
    error.args = ("second",)
    s.calls(2, f, x)


@program
def the_printed_form_of_an_error_from_before(s):
    error = ValueError("first")
    f, x = s.compile(lambda x: (x * 1, f"{error!r}")), x3()
    s.calls(2, f, x)
    error.args = ("second",)
    s.calls(2, f, x)
