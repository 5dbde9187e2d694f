"""Functions in C that call what they are given, and methods that are kept."""

import functools
import itertools
import math
import operator

from .harness import program
from .values import Number, x3


@program
def a_getter_of_operator(s):
    one, getter = Number(2.0), operator.attrgetter("value")
    f = s.compile(lambda x: x * getter(one) + operator.attrgetter("value")(one))
    s.calls(2, f, x3())
    one.value = 3.0
    s.call(f, x3())


@program
def a_caller_of_operator(s):
    table = {"a": 2.0}
    f = s.compile(lambda x: x * operator.methodcaller("get", "a")(table) + operator.itemgetter("a")(table))
    s.calls(2, f, x3())
    table["a"] = 3.0
    s.call(f, x3())


@program
def map_with_a_function_in_c(s):
    table, rows = {"a": 2.0}, [{"n": 1.0}, {"n": 2.0}]
    f = s.compile(lambda x: x * sum(map(table.get, ["a"])) + sum(map(operator.itemgetter("n"), rows)))
    s.calls(2, f, x3())
    table["a"] = 3.0
    s.call(f, x3())
    rows[1]["n"] = 10.0
    s.call(f, x3())


@program
def filter_and_reduce_with_functions_in_c(s):
    chosen, values = {"a": True}, [1.0, 2.0]
    f = s.compile(lambda x: x * len(list(filter(chosen.get, ["a", "b"]))) + functools.reduce(operator.add, values))
    s.calls(2, f, x3())
    chosen["b"] = True
    s.call(f, x3())
    values.append(10.0)
    s.call(f, x3())


@program
def max_with_a_key_in_c(s):
    votes = {"a": 1, "b": 2}
    f = s.compile(lambda x: x * 2 if max(["a", "b"], key=votes.get) == "b" else x * 3)
    s.calls(2, f, x3())
    votes["a"] = 3
    s.call(f, x3())


@program
def iter_with_a_function_and_an_end(s):
    table = {"a": 2.0}
    f = s.compile(
        lambda x: x * next(iter(lambda: table["a"], None)) + next(iter(functools.partial(table.get, "a"), None))
    )
    s.calls(2, f, x3())
    table["a"] = 3.0
    s.call(f, x3())


@program
def a_method_of_a_list_that_is_kept(s):
    values = [2.0]
    get, length = values.__getitem__, values.__len__
    f = s.compile(lambda x: x * get(0) + length())
    s.calls(2, f, x3())
    values[0] = 3.0
    s.call(f, x3())
    values.append(1.0)
    s.call(f, x3())


@program
def a_bound_method_that_is_kept(s):
    class Scaler(Number):
        def scale(self, x):
            return x * self.value

    one = Scaler()
    scale = one.scale
    f = s.compile(lambda x: scale(x))
    s.calls(2, f, x3())
    one.value = 3.0
    s.call(f, x3())


@program
def a_bound_method_that_is_compiled(s):
    class Scaler(Number):
        def scale(self, x):
            self.last = x
            return x * self.value

    one = s.watch(Scaler())
    f = s.compile(one.scale)
    s.calls(3, f, x3())
    one.value = 3.0
    s.call(f, x3())


@program
def what_a_method_is_bound_to(s):
    class Scaler(Number):
        def scale(self, x):
            return x

    scale = Scaler().scale
    f = s.compile(lambda x: x * scale.__self__.value)
    s.calls(2, f, x3())
    scale.__self__.value = 3.0
    s.call(f, x3())


@program
def iterators_that_call_a_function(s):
    scale, rows = Number(2.0), [(1.0, 2.0), (3.0, 4.0)]

    def weighted(a, b):
        return a + scale.value * b

    @s.compile
    def f(x):
        short = itertools.takewhile(lambda one: one < scale.value, [1.0, 2.5, 3.5])
        return x * sum(itertools.starmap(weighted, rows)) * sum(itertools.accumulate([1.0, 2.0], weighted)) + sum(short)

    s.calls(2, f, x3())
    scale.value = 3.0
    s.call(f, x3())
    rows.append((5.0, 6.0))
    s.call(f, x3())


@program
def iterators_over_a_list_that_changes(s):
    numbers = [1.0, 2.0, 3.0]
    combined = [itertools.combinations, itertools.permutations]

    @s.compile
    def f(x):
        pairs = [*itertools.pairwise(numbers), *(pair for kind in combined for pair in kind(numbers, 2))]
        return x * sum(a * a + b for a, b in pairs)

    s.calls(2, f, x3())
    numbers[1] = 4.0
    s.call(f, x3())
    combined.pop()
    s.call(f, x3())


@program
def functions_of_math_on_what_changes(s):
    one = Number(2.0)
    f = s.compile(lambda x: x * math.atan2(one.value, 3.0) + math.dist([one.value], [0.0]) + math.erf(x[0].item()))
    s.calls(2, f, x3())
    one.value = 3.0
    s.call(f, x3())
    s.call(f, x3() * 2)
