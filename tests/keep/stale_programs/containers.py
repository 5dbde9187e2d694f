"""Lists, dicts and what is made of them, that change in place between calls."""

import copy

from .harness import program
from .values import x3


@program
def an_item_of_a_list(s):
    factors = [2.0, 3.0]
    f, x = s.compile(lambda x: x * factors[0]), x3()
    s.calls(2, f, x)
    factors[0] = 5.0
    s.call(f, x)
    factors.insert(0, 7.0)
    s.call(f, x)
    factors.clear()
    s.call(f, x)


@program
def a_list_that_is_walked(s):
    steps = [lambda x: x + 1, lambda x: x * 2]

    @s.compile
    def f(x):
        for step in steps:
            x = step(x)
        return x

    s.calls(2, f, x3())
    steps.reverse()
    s.call(f, x3())
    steps.append(lambda x: x - 10)
    s.call(f, x3())


@program
def the_length_of_a_list(s):
    history = [1]
    f, x = s.compile(lambda x: x * len(history)), x3()
    s.calls(2, f, x)
    history.append(2)
    s.call(f, x)


@program
def truth_of_a_list(s):
    pending = []
    f, x = s.compile(lambda x: x * 2 if pending else x * 3), x3()
    s.calls(2, f, x)
    pending.append(0)
    s.call(f, x)


@program
def a_list_in_a_tuple_in_a_dict(s):
    nest = {"a": ([2.0], 0)}
    f, x = s.compile(lambda x: x * nest["a"][0][0]), x3()
    s.calls(2, f, x)
    nest["a"][0][0] = 4.0
    s.call(f, x)
    nest["a"] = ([6.0], 0)
    s.call(f, x)


@program
def a_member_of_a_list(s):
    names = ["a", "b"]
    f, x = s.compile(lambda x: x * 2 if "b" in names else x * 3), x3()
    s.calls(2, f, x)
    names.remove("b")
    s.call(f, x)


@program
def a_key_of_a_dict(s):
    table = {"a": 1}
    f, x = s.compile(lambda x: x * 2 if "b" in table else x * 3), x3()
    s.calls(2, f, x)
    table["b"] = 0
    s.call(f, x)
    del table["b"]
    s.call(f, x)


@program
def get_with_a_default(s):
    table = {}
    f, x = s.compile(lambda x: x * table.get("factor", 2.0)), x3()
    s.calls(2, f, x)
    table["factor"] = 3.0
    s.call(f, x)
    table.pop("factor")
    s.call(f, x)


@program
def the_order_of_a_dict(s):
    table = {"add": 1.0, "scale": 3.0}

    @s.compile
    def f(x):
        for name, value in table.items():
            x = x + value if name == "add" else x * value
        return x

    s.calls(2, f, x3())
    table["add"] = table.pop("add")
    s.call(f, x3())


@program
def a_view_of_a_dict(s):
    table = {"a": 1.0, "b": 2.0}
    values = table.values()
    f, x = s.compile(lambda x: x * sum(values)), x3()
    s.calls(2, f, x)
    table["a"] = 5.0
    s.call(f, x)
    table["c"] = 5.0
    s.call(f, x)


@program
def a_view_of_keys_that_is_asked(s):
    table = {"a": 1.0}
    keys = table.keys()
    f, x = s.compile(lambda x: x * 2 if "b" in keys else x * len(keys)), x3()
    s.calls(2, f, x)
    table["c"] = 5.0
    s.call(f, x)
    table["b"] = 5.0
    s.call(f, x)


@program
def a_copy_of_a_container(s):
    settings = {"factor": [2.0]}
    f, x = s.compile(lambda x: (x, copy.deepcopy(settings), dict(settings), list(settings["factor"]))), x3()
    s.calls(2, f, x)
    settings["factor"][0] = 3.0
    s.call(f, x)


@program
def the_text_of_a_container(s):
    settings = {"factor": [2.0]}
    f, x = s.compile(lambda x: (x * 2, str(settings), f"{settings}", repr(settings), "%s" % settings)), x3()  # noqa: UP031
    s.calls(2, f, x)
    settings["factor"][0] = 3.0
    s.call(f, x)


@program
def equality_of_nests(s):
    now, wanted = {"a": [1, (2.0,)]}, {"a": [1, (2.0,)]}
    f, x = s.compile(lambda x: x * 2 if now == wanted else x * 3), x3()
    s.calls(2, f, x)
    wanted["a"][1] = (2.5,)
    s.call(f, x)


@program
def a_slice_and_a_star(s):
    factors = [1.0, 2.0, 3.0, 4.0]

    @s.compile
    def f(x):
        first, *rest = factors
        return x * first + sum(factors[1:3]) + len(rest)

    s.calls(2, f, x3())
    factors[2] = 30.0
    s.call(f, x3())
    factors.append(0.0)
    s.call(f, x3())


@program
def a_comprehension_over_older_things(s):
    factors = {"a": 1.0, "b": 2.0}
    f, x = (
        s.compile(lambda x: sum(x * v for k, v in factors.items() if k != "a") + max(v for v in factors.values())),
        x3(),
    )
    s.calls(2, f, x)
    factors["b"] = 5.0
    s.call(f, x)
    factors["c"] = 1.0
    s.call(f, x)


@program
def a_sorted_list_with_a_key(s):
    order = {"add": 0, "scale": 1}

    @s.compile
    def f(x):
        for name in sorted(["add", "scale"], key=lambda name: order[name]):
            x = x + 1 if name == "add" else x * 5
        return x

    s.calls(2, f, x3())
    order["add"] = 2
    s.call(f, x3())


@program
def a_sorted_list_with_a_key_in_c(s):
    order = {"add": 0, "scale": 1}

    @s.compile
    def f(x):
        for name in sorted(["add", "scale"], key=order.get):
            x = x + 1 if name == "add" else x * 5
        return x

    s.calls(2, f, x3())
    order["add"] = 2
    s.call(f, x3())


@program
def more_than_64_items(s):
    factors = [1.0] * 100
    f, x = s.compile(lambda x: x * sum(factors)), x3()
    s.calls(2, f, x)
    factors[99] = 2.0
    s.call(f, x)
