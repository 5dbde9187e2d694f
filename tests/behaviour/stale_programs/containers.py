"""Lists, dicts, sets, tuples and others that change in place between calls."""

import collections
import copy

import clew

from .harness import program


def x3():
    return clew.tensor([1.0, 2.0, 3.0])


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
def a_proxy_of_a_class(s):
    class Kind:
        factor = 2.0

    proxy = Kind.__dict__
    f, x = s.compile(lambda x: x * proxy["factor"]), x3()
    s.calls(2, f, x)
    Kind.factor = 3.0
    s.call(f, x)


@program
def a_set(s):
    chosen = {1, 2}
    f, x = s.compile(lambda x: x * 2 if 3 in chosen else x * len(chosen)), x3()
    s.calls(2, f, x)
    chosen.add(3)
    s.call(f, x)
    chosen.discard(3)
    s.call(f, x)


@program
def a_deque(s):
    window = collections.deque([1.0, 2.0], maxlen=2)
    f, x = s.compile(lambda x: x * window[0] + len(window)), x3()
    s.calls(2, f, x)
    window.append(3.0)
    s.call(f, x)


@program
def a_window_that_it_moves(s):
    window = s.watch(collections.deque(maxlen=2))

    @s.compile
    def f(x):
        window.append(x * 2)
        return sum(window)

    for factor in range(5):
        s.call(f, x3() * factor)


@program
def a_default_dict(s):
    counts = s.watch(collections.defaultdict(int))

    @s.compile
    def f(x, name):
        counts[name] += 1
        return x * counts[name]

    for name in "aabab":
        s.call(f, x3(), name)


@program
def an_ordered_dict_that_is_reordered(s):
    layers = collections.OrderedDict(add=lambda x: x + 1, scale=lambda x: x * 2)

    @s.compile
    def f(x):
        for layer in layers.values():
            x = layer(x)
        return x

    s.calls(2, f, x3())
    layers.move_to_end("add")
    s.call(f, x3())


@program
def a_counter(s):
    counts = collections.Counter(a=2)
    f, x = s.compile(lambda x: x * (counts["a"] + counts["b"])), x3()
    s.calls(2, f, x)
    counts.update("ab")
    s.call(f, x)


@program
def a_chain_of_dicts(s):
    first, second = {}, {"factor": 2.0}
    chain = collections.ChainMap(first, second)
    f, x = s.compile(lambda x: x * chain["factor"]), x3()
    s.calls(2, f, x)
    first["factor"] = 3.0
    s.call(f, x)


@program
def a_dict_of_a_users_class(s):
    class Table(dict):
        def __missing__(self, key):
            return 2.0

    table = Table()
    f, x = s.compile(lambda x: x * table["factor"]), x3()
    s.calls(2, f, x)
    Table.__missing__ = lambda self, key: 3.0
    s.call(f, x)
    table["factor"] = 4.0
    s.call(f, x)


@program
def a_list_of_a_users_class(s):
    class Factors(list):
        def __getitem__(self, index):
            return list.__getitem__(self, index) * 10

    factors = Factors([2.0])
    f, x = s.compile(lambda x: x * factors[0]), x3()
    s.calls(2, f, x)
    list.__setitem__(factors, 0, 3.0)
    s.call(f, x)
    del Factors.__getitem__
    s.call(f, x)


@program
def a_named_tuple(s):
    Settings = collections.namedtuple("Settings", "factor layers")  # noqa: PYI024
    settings = Settings(2.0, [1.0])
    f, x = s.compile(lambda x, settings: settings._replace(factor=x * settings.factor + settings.layers[0])), x3()
    s.calls(2, f, x, settings)
    settings.layers[0] = 4.0
    s.call(f, x, settings)
    s.call(f, x, Settings(3.0, [1.0]))


@program
def a_bytearray(s):
    data = bytearray([2, 3])
    f, x = s.compile(lambda x: x * data[0]), x3()
    s.calls(2, f, x)
    data[0] = 9
    s.call(f, x)


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
def a_copy_of_a_container(s):
    settings = {"factor": [2.0]}
    f, x = s.compile(lambda x: (x, copy.deepcopy(settings), dict(settings), list(settings["factor"]))), x3()
    s.calls(2, f, x)
    settings["factor"][0] = 3.0
    s.call(f, x)


@program
def the_text_of_a_container(s):
    settings = {"factor": [2.0]}
    f, x = s.compile(lambda x: (x * 2, str(settings), f"{settings}", repr(settings), "%s" % settings)), x3()
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
