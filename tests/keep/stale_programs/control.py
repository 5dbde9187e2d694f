"""Recursion, nested compiled functions, threads, generators, patterns and code made inside."""

import threading

import clew

from .harness import program
from .values import x3


@program
def recursion(s):
    depth = [3]

    def power(x, n):
        return x if n == 0 else power(x, n - 1) * x

    f = s.compile(lambda x: power(x, depth[0]))
    s.calls(2, f, x3())
    depth[0] = 5
    s.call(f, x3())


@program
def recursion_through_itself(s):
    factors = [2.0]

    @s.compile
    def f(x, n):
        return x * factors[0] if n == 0 else f(x, n - 1) * factors[0]

    s.calls(2, f, x3(), 3)
    s.calls(2, f, x3(), 2)
    factors[0] = 3.0
    s.calls(2, f, x3(), 3)


@program
def a_compiled_function_that_it_calls(s):
    factor = [2.0]
    inner = s.compile(lambda x: x * factor[0])
    outer = s.compile(lambda x: inner(x) + inner(x * 2))
    s.calls(2, inner, x3())
    s.calls(3, outer, x3())
    factor[0] = 3.0
    s.calls(2, outer, x3())
    s.call(inner, x3())


@program
def a_compiled_function_that_is_replaced(s):
    box = [s.compile(lambda x: x * 2)]
    outer = s.compile(lambda x: box[0](x) + 1)
    s.calls(2, outer, x3())
    box[0] = s.compile(lambda x: x * 3)
    s.calls(2, outer, x3())


@program
def threads_at_once(s):
    weight = clew.ones(3, requires_grad=True)
    f = s.compile(lambda x: (x * weight).sum())
    found = [None] * 4

    def work(i):
        found[i] = [f(x3() * (i + turn)) for turn in range(20)]

    s.call(f, x3())
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    s.note(found)


@program
def a_thread_that_it_starts(s):
    count = [0]

    @s.compile
    def f(x):
        thread = threading.Thread(target=lambda: count.append(1))
        thread.start()
        thread.join()
        return x * len(count)

    s.calls(4, f, x3())


@program
def a_generator_function(s):
    factors = [1.0, 2.0]

    def parts(x):
        for factor in factors:
            yield x * factor

    f = s.compile(lambda x: [*parts(x), sum(part for part in parts(x))])
    s.calls(2, f, x3())
    factors.append(5.0)
    s.call(f, x3())


@program
def a_pattern(s):
    command = ["scale", 2.0]

    @s.compile
    def f(x):
        match command:
            case ["scale", factor]:
                return x * factor
            case [_]:
                return x
            case _:
                return -x

    s.calls(2, f, x3())
    command[1] = 3.0
    s.call(f, x3())
    command.pop()
    s.call(f, x3())


@program
def a_pattern_of_a_mapping(s):
    command = {"scale": 2.0}

    @s.compile
    def f(x):
        match command:
            case {"scale": factor}:
                return x * factor
            case {"add": amount, **rest}:
                return x + amount + len(rest)
            case _:
                return -x

    s.calls(2, f, x3())
    command["scale"] = 3.0
    s.call(f, x3())
    command.clear()
    s.call(f, x3())
    command["add"] = 1.0
    s.call(f, x3())


@program
def a_class_that_it_defines(s):
    factor = 2.0

    @s.compile
    def f(x):
        class Local:
            now = factor

        return x * Local.now

    s.calls(2, f, x3())
    factor = 3.0
    s.call(f, x3())


@program
def code_that_is_run_from_text(s):
    text = ["x * 2"]
    f = s.compile(lambda x: eval(text[0], {"x": x}))
    s.calls(2, f, x3())
    text[0] = "x * 3"
    s.call(f, x3())
