"""Globals and variables of the function around that change between calls."""

import builtins
import types

import clew

from .harness import program
from .values import x3

SCALE, OTHER = 2.0, 0.0


TABLE = clew.ones(3)


def helper(x):
    return x * 3


@program
def a_global_number(s):
    global SCALE
    SCALE = 2.0
    f, x = s.compile(lambda x: x * SCALE), x3()
    s.calls(2, f, x)
    SCALE = 5.0
    s.calls(2, f, x)
    SCALE = 2.0
    s.call(f, x)


@program
def a_global_of_another_type(s):
    global SCALE
    SCALE = 1.0
    f, x = s.compile(lambda x: (SCALE, x + 1)), x3()
    s.calls(2, f, x)
    for SCALE in (1, True, -0.0, 0.0, 0, False):  # noqa: B007
        s.call(f, x)


@program
def a_global_tensor_rebound(s):
    global TABLE
    TABLE = clew.ones(3)
    f, x = s.compile(lambda x: x + TABLE), x3()
    s.calls(2, f, x)
    TABLE = clew.full((3,), 7.0)
    s.calls(2, f, x)


@program
def a_global_tensor_written(s):
    global TABLE
    TABLE = clew.ones(3)
    f, x = s.compile(lambda x: x + TABLE), x3()
    s.calls(2, f, x)
    TABLE.fill_(4.0)
    s.call(f, x)
    TABLE[1] = -1.0
    s.call(f, x)


@program
def a_global_tensor_of_another_shape(s):
    global TABLE
    TABLE = clew.ones(3)
    f, x = s.compile(lambda x: (x + TABLE).sum() * TABLE.numel()), x3()
    s.calls(2, f, x)
    TABLE.data = clew.ones(2, 3)
    s.call(f, x)
    TABLE.data = clew.ones(1)
    s.call(f, x)


@program
def a_global_function_rebound(s):
    global helper
    before = helper
    f, x = s.compile(lambda x: helper(x) + 1), x3()
    s.calls(2, f, x)
    helper = lambda x: x - 3  # noqa: E731
    s.calls(2, f, x)
    helper = before
    s.call(f, x)


@program
def a_global_that_is_deleted(s):
    global OTHER
    OTHER = 1.0
    f, x = s.compile(lambda x: x + OTHER), x3()
    s.calls(2, f, x)
    del OTHER
    s.call(f, x)
    OTHER = 2.0
    s.call(f, x)


@program
def a_global_that_shadows_a_builtin(s):
    f, x = s.compile(lambda x: x * max(1, 2)), x3()
    s.calls(2, f, x)
    globals()["max"] = lambda a, b: 10
    s.call(f, x)
    del globals()["max"]
    s.call(f, x)


@program
def a_builtin_that_is_replaced(s):
    f, x = s.compile(lambda x: x * abs(-2)), x3()
    s.calls(2, f, x)
    before = builtins.abs
    builtins.abs = lambda number: 9
    try:
        result = f(x)
    finally:
        builtins.abs = before
    s.given.append(result)
    s.note()


@program
def a_global_that_it_assigns(s):
    global OTHER
    OTHER = 0.0

    @s.compile
    def f(x):
        global OTHER
        OTHER = OTHER + 1.0
        return x * OTHER

    for _ in range(4):
        s.call(f, x3())
        s.note(OTHER)


@program
def a_variable_of_the_function_around(s):
    factor = 2.0
    f, x = s.compile(lambda x: x * factor), x3()
    s.calls(2, f, x)
    factor = 3.0
    s.calls(2, f, x)


@program
def a_variable_that_is_unbound(s):
    factor = 2.0
    f, x = s.compile(lambda x: x * factor), x3()
    s.calls(2, f, x)
    del factor
    s.call(f, x)
    factor = 4.0
    s.call(f, x)


@program
def a_variable_that_it_assigns(s):
    count = 0

    @s.compile
    def f(x):
        nonlocal count
        count += 1
        return x * count

    for _ in range(4):
        s.call(f, x3())
        s.note(count)


@program
def a_variable_that_an_inner_function_assigns(s):
    total = clew.zeros(3)

    @s.compile
    def f(x):
        def add():
            nonlocal total
            total = total + x

        add()
        return total * 2

    for _ in range(4):
        s.call(f, x3())
        s.note(total)


@program
def an_attribute_of_a_module_of_python(s):
    module = types.ModuleType("settings")
    module.factor = 2.0
    f, x = s.compile(lambda x: x * module.factor), x3()
    s.calls(2, f, x)
    module.factor = 3.0
    s.call(f, x)
    module.__getattr__ = lambda name: 11.0
    del module.factor
    s.call(f, x)
    module.__getattr__ = lambda name: 12.0
    s.call(f, x)


@program
def the_globals_themselves(s):
    global SCALE
    SCALE = 1.0
    f, x = s.compile(lambda x: x * globals()["SCALE"]), x3()
    s.calls(2, f, x)
    SCALE = 3.0
    s.call(f, x)
