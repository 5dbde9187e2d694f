"""State per thread, counts in dicts, dispatch by class, results that are sets, arguments made for each call."""

import collections
import dataclasses
import functools
import operator
import threading
import types

import clew

from .harness import program
from .values import x3


@program
def state_of_a_thread(s):
    class State(threading.local):
        base = 1.0

        def __init__(self):
            self.scale = 2.0

    state = State()
    f = s.compile(lambda x: x * state.scale * state.base)
    s.calls(3, f, x3())
    state.scale = 3.0
    s.calls(2, f, x3())
    State.base = 5.0
    s.calls(2, f, x3())
    state.base = 7.0
    s.calls(2, f, x3())
    found = []
    thread = threading.Thread(target=lambda: found.append(f(x3())))
    thread.start()
    thread.join()
    s.call(lambda: found[0])
    s.call(f, x3())


@program
def state_of_a_thread_that_it_sets(s):
    state = threading.local()
    state.scale = 2.0

    def function(x):
        before = state.scale
        state.scale = 3.0
        y = x * state.scale
        state.scale = before
        return y

    def function_that_leaves_it(x):
        y = x * state.scale
        state.scale = 5.0
        return y

    for one in (function, function_that_leaves_it):
        f = s.compile(one)
        s.calls(3, f, x3())
        s.call(lambda: state.scale)
        state.scale = 7.0
        s.calls(2, f, x3())
        s.call(lambda: state.scale)


@program
def an_autocast_around_it(s):
    def function(x):
        with clew.autocast("cpu", enabled=False):
            inside = clew.is_autocast_enabled("cpu")
        return x * (1 + clew.is_autocast_enabled("cpu")), inside

    f = s.compile(function)
    s.calls(3, f, x3())
    with clew.autocast("cpu"):
        s.calls(3, f, x3())
    s.calls(2, f, x3())
    s.call(lambda: clew.is_autocast_enabled("cpu"))


@program
def a_count_in_a_dict(s):
    counts = s.watch({"n": 0, 1: 5})

    def function(x):
        counts["n"] += 1
        counts[1] += 2
        return x * 2

    def function_that_reads_it(x):
        counts["n"] += 1
        return x * counts["n"]

    def function_that_reads_all(x):
        counts["n"] += 1
        return x * sum(counts.values())

    def function_of_two_ways(x):
        counts["n"] += 1
        counts["n"] += 1
        return x

    for one in (function, function_that_reads_it, function_that_reads_all, function_of_two_ways):
        f = s.compile(one)
        s.calls(4, f, x3())
        counts["n"] = 100
        s.calls(2, f, x3())


@program
def a_count_in_a_dict_that_becomes_something_else(s):
    counts = s.watch(collections.defaultdict(int, n=0))
    plain = s.watch({"n": 0})

    def function(x):
        counts["n"] += 1
        plain["n"] += 1
        return x * 2

    f = s.compile(function)
    s.calls(3, f, x3())
    plain["n"] = 1.5
    s.calls(2, f, x3())
    plain["n"] = True
    s.calls(2, f, x3())
    plain["n"] = "a"
    s.calls(1, f, x3())
    del plain["n"]
    s.calls(1, f, x3())


@program
def results_that_are_sets_and_ordered_dicts(s):
    holder = types.SimpleNamespace(items=[3, "a", (1, 2)], names=["b", "a"])

    def function(x):
        made = collections.OrderedDict((name, x * i) for i, name in enumerate(holder.names))
        made.move_to_end(holder.names[0])
        return made, set(holder.items), frozenset(holder.items), list(made)

    f = s.compile(function)
    made = s.calls(3, f, x3())
    made[1].add(5)
    made[0]["c"] = 1
    s.calls(2, f, x3())
    holder.items.append(4)
    holder.names.reverse()
    s.calls(3, f, x3())
    s.call(lambda: [type(one).__name__ for one in made])


@program
def a_function_for_each_class(s):
    @functools.singledispatch
    def scaled(one, x):
        return x * 2

    class Kind:
        pass

    class Other(Kind):
        pass

    holder = types.SimpleNamespace(one=Other())
    f = s.compile(lambda x: scaled(holder.one, x))
    s.calls(4, f, x3())
    scaled.register(Kind, lambda one, x: x * 3)
    s.calls(4, f, x3())
    scaled.register(Other, lambda one, x: x * 5)
    s.calls(4, f, x3())
    holder.one = 1
    s.calls(2, f, x3())
    scaled.register(int, lambda one, x: x * 7)
    s.calls(4, f, x3())


@program
def an_item_getter_that_c_calls(s):
    class Row:
        def __init__(self, n):
            self.n = n

        def __getitem__(self, key):
            return self.n

    rows, pairs = [Row(2.0), Row(1.0)], [[1.0, 2.0], [2.0, 1.0]]
    get = operator.itemgetter(0)
    f = s.compile(lambda x: x * sorted(rows, key=get)[0].n)
    g = s.compile(lambda x: x * max(pairs, key=get)[1])
    h = s.compile(lambda x: x * sum(map(get, pairs)))
    for function in (f, g, h):
        s.calls(3, function, x3())
        rows[0].n -= 5.0
        pairs[0][0] += 5.0
        s.calls(2, function, x3())


@dataclasses.dataclass
class Batch:
    x: object
    scale: float = 2.0
    tags: list = dataclasses.field(default_factory=list)


@program
def dataclasses_made_for_each_call(s):
    f = s.compile(lambda batch: batch.x * batch.scale * (1 + len(batch.tags)))
    s.calls(2, f, Batch(x3()))
    s.calls(3, f, Batch(x3() * 2))
    s.calls(2, f, Batch(x3(), 5.0))
    s.calls(2, f, Batch(x3(), 5.0, ["a"]))
    one = Batch(x3())
    s.calls(2, f, one)
    one.scale = 7.0
    s.calls(2, f, one)
    one.tags.append("b")
    s.calls(2, f, one)
    one.more = 1
    s.calls(2, f, one)
    Batch.scale = 9.0
    del one.scale
    s.calls(2, f, one)
    Batch.scale = 2.0


@program
def dataclasses_that_it_reaches_too(s):
    held = Batch(x3(), 3.0)
    f = s.compile(lambda batch: batch.x * batch.scale + held.scale)
    for batch in (Batch(x3()), Batch(x3()), held, Batch(x3() * 2)):
        s.calls(2, f, batch)
    held.scale = 5.0
    for batch in (Batch(x3()), held):
        s.calls(2, f, batch)


@program
def a_dataclass_that_it_writes_to(s):
    kept = s.watch([])

    def function(batch):
        batch.scale = batch.scale + 1
        batch.tags.append(1)
        kept.append(batch)
        return batch.x * batch.scale

    f = s.compile(function)
    for _ in range(4):
        s.call(f, Batch(x3()))
    one = s.watch(Batch(x3()))
    s.calls(3, f, one)


@program
def the_dict_of_a_dataclass(s):
    def function(batch):
        vars(batch)["scale"] = 4.0
        return batch.x * batch.scale

    f = s.compile(function)
    for _ in range(4):
        one = s.watch(Batch(x3()))
        s.call(f, one)
        s.call(lambda one=one: one.scale)


@program
def an_ordered_dict_that_it_is_given(s):
    f = s.compile(lambda d: next(iter(d.values())) * len(d))

    def moved(d):
        d.move_to_end("a")
        return next(iter(d.values())) * 2

    g = s.compile(moved)
    for function in (f, g):
        for _ in range(2):
            s.call(function, s.watch(collections.OrderedDict(a=x3(), b=x3() * 2)))
            s.call(function, s.watch(collections.OrderedDict(b=x3() * 2, a=x3())))
    one = collections.OrderedDict(a=x3(), b=x3() * 2)
    h = s.compile(lambda d: d["a"] * getattr(d, "scale", 2.0))
    s.calls(2, h, one)
    one.scale = 5.0
    s.calls(2, h, one)
