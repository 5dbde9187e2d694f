"""Sets, deques, other collections and containers of users' classes that change in place between calls."""

import array
import collections

from .harness import program
from .values import x3


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
    Settings = collections.namedtuple("Settings", "factor layers")
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
def an_array_of_numbers(s):
    factors = array.array("d", [1.0, 2.0])
    f, x = s.compile(lambda x: x * sum(factors)), x3()
    s.calls(2, f, x)
    factors[1] = 3.0
    s.call(f, x)
    factors.append(4.0)
    s.call(f, x)


@program
def a_named_tuple_whose_new_changes_what_it_is_given(s):
    class Pair(collections.namedtuple("Pair", "left right")):
        def __new__(cls, left, right):
            return super().__new__(cls, left, right * 2)

    s.calls(3, s.compile(lambda x: Pair(x * 2, 3.0)), x3())


@program
def a_named_tuple_with_an_attribute_of_its_own(s):
    class Pair(collections.namedtuple("Pair", "left right")):
        pass

    @s.compile
    def f(x):
        pair = Pair(x * 2, 3.0)
        pair.middle = x.sum()
        return pair, pair.middle

    for factor in (1.0, 2.0, 3.0):
        s.watch(s.call(f, x3() * factor)[0].__dict__)


@program
def keys_of_a_dict_that_are_equal(s):
    seen = s.watch({})

    @s.compile
    def f(x):
        seen[1] = x * 2
        seen[True] = x * 3
        return x * 1

    s.calls(3, f, x3())
