"""What functools makes of functions."""

import functools

import clew

from .harness import program
from .values import x3


@program
def a_partial(s):
    def scale(factor, x, shift=0.0):
        return x * factor + shift

    part = functools.partial(scale, 2.0, shift=1.0)
    f = s.compile(lambda x: part(x))
    s.calls(2, f, x3())
    part.keywords["shift"] = 5.0
    s.call(f, x3())
    part.__setstate__((scale, (3.0,), {}, None))
    s.call(f, x3())


@program
def a_partial_that_is_compiled(s):
    factors = [2.0]
    part = functools.partial(lambda factors, x, shift: x * factors[0] + shift, factors, shift=1.0)
    f = s.compile(part)
    s.calls(2, f, x3())
    factors[0] = 3.0
    s.call(f, x3())
    part.keywords["shift"] = 5.0
    s.call(f, x3())


@program
def a_cache_of_functools(s):
    factor = [2.0]

    @functools.lru_cache
    def table(n):
        return clew.full((n,), factor[0])

    f = s.compile(lambda x: x * table(3))
    s.calls(3, f, x3())
    factor[0] = 3.0
    s.call(f, x3())
    table.cache_clear()
    s.call(f, x3())


@program
def a_single_dispatch(s):
    @functools.singledispatch
    def way(option, x):
        return x * 2

    f = s.compile(lambda x: way(1, x))
    s.calls(2, f, x3())
    way.register(int, lambda option, x: x * 3)
    s.call(f, x3())


@program
def a_wrapped_function(s):
    def plain(x):
        return x * 2

    @functools.wraps(plain)
    def wrapper(x):
        return wrapper.__wrapped__(x) + 1

    f = s.compile(lambda x: wrapper(x))
    s.calls(2, f, x3())
    wrapper.__wrapped__ = lambda x: x * 50
    s.call(f, x3())
