"""Containers that are the same object, or only equal, and numbers that hide in containers."""

import math

import clew

from .harness import program
from .values import x3


@program
def one_list_twice_as_argument(s):
    f = s.compile(lambda x, a, b: (x * 2 if a is b else x * 3, a, b))
    same = [1]
    s.calls(2, f, x3(), same, same)
    s.calls(2, f, x3(), [1], [1])
    s.call(f, x3(), same, same)


@program
def an_argument_that_is_a_captured_list(s):
    kept = [1]
    f = s.compile(lambda x, given: x * 2 if given is kept else x * 3)
    s.calls(2, f, x3(), [1])
    s.calls(2, f, x3(), kept)
    s.call(f, x3(), [1])


@program
def an_argument_that_is_the_list_it_appends_to(s):
    kept = s.watch([1])

    @s.compile
    def f(x, given):
        kept.append(2)
        return x * len(given)

    s.call(f, x3(), [1])
    kept[:] = [1]
    s.call(f, x3(), kept)


@program
def an_argument_that_is_the_dict_it_sets(s):
    kept = s.watch({"a": 1})

    @s.compile
    def f(x, given):
        kept["a"] = 5
        return x * given["a"]

    s.call(f, x3(), {"a": 1})
    kept["a"] = 1
    s.call(f, x3(), kept)


@program
def the_arguments_themselves(s):
    def plain(*rest, **named):
        return rest, named

    f = s.compile(plain)
    for _ in range(3):
        rest, named = s.call(f, x3(), [1], a=x3(), b=2)
        named["c"] = 1
        rest[1].append(2)
    s.note()


@program
def an_item_as_a_key_of_the_result(s):
    f = s.compile(lambda x: {x.sum().item(): x * 2})
    for factor in (1.0, 1.0, 2.0, 3.0):
        s.call(f, x3() * factor)


@program
def an_item_in_a_set(s):
    f = s.compile(lambda x: x * 2 if 6.0 in {x.sum().item(), 0.0} else x * 3)
    for factor in (1.0, 1.0, 2.0):
        s.call(f, x3() * factor)


@program
def how_many_items_differ(s):
    f = s.compile(lambda x: x * len({x[0].item(), x[1].item(), 2.0}))
    s.calls(2, f, x3())
    s.call(f, x3() * 0 + 2)


@program
def an_item_as_a_key_of_a_new_dict(s):
    f = s.compile(lambda x: x * {x[0].item(): 2.0}.get(1.0, 7.0))
    for factor in (1.0, 1.0, 2.0):
        s.call(f, x3() * factor)


@program
def items_that_a_generator_gives_to_sum(s):
    f = s.compile(lambda x: (x * 2, sum(one.item() for one in (x[0], x[1] * 2))))
    for factor in (1.0, 1.0, 2.0, 3.0):
        s.call(f, x3() * factor)


@program
def items_that_a_generator_gives_to_max(s):
    f = s.compile(lambda x: x / max(one.item() for one in x))
    for factor in (1.0, 1.0, 2.0, 3.0):
        s.call(f, x3() * factor)


@program
def items_that_a_generator_gives_to_any(s):
    f = s.compile(lambda x: x * 2 if any(one.item() for one in (x[0], x[1])) else x * 3)
    for factor in (1.0, 1.0, 0.0):
        s.call(f, x3() * factor)


@program
def items_that_a_generator_gives_to_a_dict(s):
    f = s.compile(lambda x: (x, dict((one.item(), 1) for one in x), tuple(one.item() for one in x)))
    for factor in (1.0, 1.0, 2.0):
        s.call(f, x3() * factor)


@program
def items_that_are_mapped(s):
    f = s.compile(lambda x: (x, list(map(float, x)), list(map(math.sqrt, (one.item() for one in x)))))
    for factor in (1.0, 1.0, 2.0):
        s.call(f, x3() * factor)


@program
def an_item_in_a_comprehension_of_sets(s):
    f = s.compile(lambda x: x * len({one.item() for one in x}))
    s.calls(2, f, x3())
    s.call(f, x3() * 0)


@program
def items_of_float64_against_large_integers(s):
    f = s.compile(lambda x: x * 2 if x.sum().item() >= 2**53 + 1 else x * 3)
    s.calls(2, f, clew.tensor([2.0**53 + 2], dtype=clew.float64))
    s.call(f, clew.tensor([2.0**53], dtype=clew.float64))


@program
def an_item_against_an_integer_too_large_for_a_float(s):
    f = s.compile(lambda x: x * 2 if x.sum().item() < 10**400 else x * 3)
    s.calls(2, f, x3())
    s.call(f, x3() * math.inf)


@program
def items_that_are_unpacked_and_swapped(s):
    def plain(x):
        a, b = x[0].item(), x[1].item()
        a, b = b, a
        return [a, (b, a)], x

    f = s.compile(plain)
    for factor in (1.0, 2.0, 3.0):
        s.call(f, x3() * factor)


@program
def an_item_that_is_the_same_object_twice(s):
    def plain(x):
        a = x[0].item()
        return a is a, [a, a], x * 2

    f = s.compile(plain)
    for factor in (1.0, 2.0, 3.0):
        s.call(f, x3() * factor)


@program
def an_item_that_python_pickles_as_a_default(s):
    def plain(x):
        def inner(a=x[0].item()):  # noqa: B008 - the default is what is tested
            return a * 2

        return inner(), x

    f = s.compile(plain)
    for factor in (1.0, 2.0, 3.0):
        s.call(f, x3() * factor)
