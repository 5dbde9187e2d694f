"""Containers that a function is given or gives back."""

import clew

from .harness import program
from .values import x3


@program
def a_mutable_argument(s):
    f, factors = s.compile(lambda x, factors: x * factors[0] + len(factors)), [2.0]
    s.calls(2, f, x3(), factors)
    factors[0] = 3.0
    s.call(f, x3(), factors)
    factors.append(1)
    s.call(f, x3(), factors)


@program
def an_argument_that_it_appends_to(s):
    @s.compile
    def f(x, history):
        history.append(x * len(history))
        return history[-1] + 1

    history = s.watch([])
    s.calls(4, f, x3(), history)


@program
def the_order_of_an_argument(s):
    @s.compile
    def f(x, **steps):
        for name, value in steps.items():
            x = x + value if name == "add" else x * value
        return x

    s.calls(2, f, x3(), add=1.0, scale=3.0)
    s.calls(2, f, x3(), scale=3.0, add=1.0)


@program
def containers_that_it_returns(s):
    f = s.compile(lambda x: {"x": [x * 2], "t": (x + 1, [])})
    for factor in range(4):
        result = s.call(f, x3() * factor)
        result["x"].append("the caller's")
        result["t"][1].append("the caller's")
        result["y"] = 1
    s.note()


@program
def one_list_twice_in_the_result(s):
    def plain(x):
        inner = [x * 2]
        return inner, {"again": inner}, inner[0]

    f = s.compile(plain)
    for factor in range(4):
        s.call(f, x3() * factor)[0].append(factor)
    s.note()


@program
def a_container_from_before_the_call_in_the_result(s):
    kept = s.watch([1, 2])
    f = s.compile(lambda x: (x * 2, kept))
    for factor in range(4):
        s.call(f, x3() * factor)[1].append(factor)
    s.note()


@program
def an_argument_in_the_result(s):
    f, given = s.compile(lambda x, given: {"given": given, "y": x * 2}), s.watch([1])
    for factor in range(4):
        s.call(f, x3() * factor, given)
    other = s.watch([1])
    s.call(f, x3(), other)


@program
def a_tuple_of_tensors_that_is_reached_too(s):
    first, second = (clew.ones(3),), (clew.ones(3) * 5,)
    f = s.compile(lambda x, given: x * given[0] + first[0])
    s.calls(3, f, x3(), first)
    s.calls(3, f, x3(), second)
    s.calls(2, f, x3(), first)


@program
def which_tuple_it_is_given(s):
    first, second = tuple([1, 2]), tuple([1, 2])
    f = s.compile(lambda x, given: x * (2 if given is first else 3))
    g = s.compile(lambda x, given: x * (2 if given[0] is first else 3))
    for order in ((first, second), (second, first)):
        for function, one, other in ((f, *order), (g, *((each,) for each in order))):
            s.calls(3, function, x3(), one)
            s.calls(2, function, x3(), other)
