"""What the call makes itself and that leads to objects from before it: functions, frames, exceptions, caches."""

import functools
import warnings

from .harness import program
from .values import x3

FACTOR = 1.0


def changed(s, function):
    """Before and after the global is changed."""
    global FACTOR
    FACTOR = 1.0
    f = s.compile(function)
    s.calls(3, f, x3())
    FACTOR = 5.0
    s.calls(2, f, x3())


@program
def globals_of_a_function_that_it_makes(s):
    changed(s, lambda x: x * (lambda: 0).__globals__["FACTOR"])


@program
def globals_of_the_frame_of_a_traceback(s):
    def function(x):
        try:
            raise KeyError
        except KeyError as error:
            return x * error.__traceback__.tb_frame.f_globals["FACTOR"]

    changed(s, function)


@program
def globals_of_the_frame_of_a_generator(s):
    changed(s, lambda x: x * (one for one in [1]).gi_frame.f_globals["FACTOR"])


@program
def cells_of_a_function_that_it_makes(s):
    factors = {"first": 1.0}

    def function(x):
        def inner():
            return factors

        return x * inner.__closure__[0].cell_contents["first"]

    f = s.compile(function)
    s.calls(3, f, x3())
    factors["first"] = 5.0
    s.calls(2, f, x3())


@program
def the_context_of_an_exception_that_it_raises(s):
    def function(x):
        try:
            raise KeyError
        except KeyError as error:
            return x * error.__context__.args[0]

    f, outer = s.compile(function), ValueError(1.0)
    for factor in (1.0, 1.0, 1.0, 5.0, 5.0):
        outer.args = (factor,)
        try:
            raise outer
        except ValueError:
            s.call(f, x3())


@program
def operators_that_are_caches(s):
    factors = [2.0]

    class Made:
        __abs__ = functools.lru_cache(lambda self: factors[0])

    made = Made()
    f = s.compile(lambda x: x * abs(made))
    s.calls(3, f, x3())
    factors[0] = 5.0
    s.calls(3, f, x3())
    Made.__abs__.cache_clear()
    s.calls(2, f, x3())


@program
def operators_that_are_partials(s):
    factors = {"factor": 2.0}

    class Made:
        __abs__ = functools.partial(lambda *given, factor: factor, **factors)

    f = s.compile(lambda x: x * abs(Made()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # CPython 3.13 announces that it will be a method
        s.calls(3, f, x3())
        Made.__dict__["__abs__"].keywords["factor"] = 5.0
        s.calls(2, f, x3())
