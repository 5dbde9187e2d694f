"""Special methods that are written in C, in each way in which a class may hold one: C calls them, and nothing tells."""

import contextvars
import functools
import math
import operator
import types

from .harness import program
from .values import x3


class State:
    """What the methods in C read: a dict by any key, a list, a variable of the context."""

    def __init__(self):
        self.values, self.items, self.variable = {}, [1, 2], contextvars.ContextVar("n", default=2)
        self.change(2)

    def change(self, n):
        """All that reads it has to give `n` now."""
        self.items[:] = range(n)
        self.variable.set(n)
        self.values.clear()
        self.values.update(dict.fromkeys(["scale", 0, 1, "", None], float(n)))

    def get(self, key):
        """By a method that is written in C."""
        return self.values[key]


def register(name, ways, read):
    """A program for each way: `ways(state)` gives the attributes of a class, `read` an object of it."""

    def run(s):
        state = State()
        kind = type("Kind", (), ways(state))
        one = kind()
        f = s.compile(lambda x: x * read(one))
        s.calls(3, f, x3())
        state.change(5)
        s.calls(2, f, x3())

    run.__name__ = name
    program(run)


READ = {
    "length": ("__len__", lambda state: state.items.__len__, len),
    "length_of_the_context": ("__len__", lambda state: state.variable.get, len),
    "iteration": ("__iter__", lambda state: state.items.__iter__, sum),
    "membership": ("__contains__", lambda state: state.items.__contains__, lambda one: 1 + (3 in one)),
    "index": ("__index__", lambda state: state.items.__len__, lambda one: range(9)[one]),
    "integer": ("__int__", lambda state: state.items.__len__, int),
    "round": ("__round__", lambda state: state.items.__len__, round),
    "floor": ("__floor__", lambda state: state.items.__len__, math.floor),
    "ceiling": ("__ceil__", lambda state: state.items.__len__, math.ceil),
    "number": ("__float__", lambda state: functools.partial(state.values.get, 0), float),
    "negative": ("__neg__", lambda state: state.items.__len__, operator.neg),
    "absolute": ("__abs__", lambda state: state.items.__len__, abs),
    "item": ("__getitem__", lambda state: state.values.get, lambda one: one["scale"]),
    "attribute": ("__getattr__", lambda state: state.values.get, lambda one: one.scale),
    "any_attribute": ("__getattribute__", lambda state: state.values.get, lambda one: one.scale),
    "call": ("__call__", lambda state: state.values.get, lambda one: one("scale")),
    "call_from_c": ("__call__", lambda state: state.values.get, lambda one: sum(map(one, ["scale"]))),
    "key": ("__call__", lambda state: state.values.get, lambda one: max([0, 1], key=one) + max(map(one, [0, 1]))),
    "hash": ("__hash__", lambda state: state.items.__len__, lambda one: hash(one)),
    "hash_of_a_key": (
        "__hash__",
        lambda state: state.items.__len__,
        lambda one: 1 + (5 in [hash(k) for k in {one: 0}]),
    ),
    "equality": ("__eq__", lambda state: state.items.__contains__, lambda one: 1 + (one == 4)),
    "order": ("__lt__", lambda state: state.items.__contains__, lambda one: 1 + (one < 4)),
    "sum": ("__add__", lambda state: state.values.get, lambda one: one + 1),
    "reflected_sum": ("__radd__", lambda state: state.values.get, lambda one: 1 + one),
    "hint": ("__length_hint__", lambda state: state.items.__len__, operator.length_hint),
    "reversal": ("__reversed__", lambda state: state.items.__iter__, lambda one: sum(reversed(one))),
    "enter": ("__enter__", lambda state: state.items.__len__, lambda one: entered(one)),
    "keys": ("keys", lambda state: state.values.keys, lambda one: len(dict(one))),
}


def entered(one):
    with one as number:
        return number


MORE = {
    "enter": {"__exit__": lambda self, *error: None},
    "keys": {"__getitem__": lambda self, key: key},
}
for what, (method, of_state, reader) in READ.items():
    register(
        f"{what}_by_a_static_method_in_c",
        lambda state, method=method, of_state=of_state, what=what: (
            {method: staticmethod(of_state(state))} | MORE.get(what, {})
        ),
        reader,
    )


@program
def truth_by_a_static_method_in_c(s):
    for name in ("__len__", "__bool__"):
        items = []
        true = items.__len__ if name == "__len__" else functools.partial(operator.truth, items)
        kind = type("Kind", (), {name: staticmethod(true)})
        one = kind()
        f = s.compile(lambda x, one=one: x * (2 if one else 3))
        s.calls(3, f, x3())
        items.append(1)
        s.calls(2, f, x3())


@program
def a_text_by_a_static_method_in_c(s):
    for name, read in (
        ("__format__", lambda one: f"{one}"),
        ("__str__", str),
        ("__repr__", repr),
        ("__str__", lambda one: f"{one!s}"),
        ("__repr__", lambda one: f"{one!r}"),
    ):
        texts = {"": "ab"}
        function = texts.get if name == "__format__" else functools.partial(texts.get, "")
        one = type("Kind", (), {name: staticmethod(function)})()
        f = s.compile(lambda x, one=one, read=read: x * len(read(one)))
        s.calls(3, f, x3())
        texts[""] = "abcd"
        s.calls(2, f, x3())


def each(s, kinds, read):
    """`kinds` gives for a state classes of which `read` reads an object."""
    for i in range(len(kinds(State()))):
        state = State()
        kind = kinds(state)[i]
        one = kind()
        f = s.compile(lambda x, one=one: x * read(one))
        s.calls(3, f, x3())
        state.change(5)
        s.calls(2, f, x3())


def in_each_way(state):
    """A length in C, in each way in which a class may hold it."""
    function = state.items.__len__

    class Caller:
        __call__ = staticmethod(function)

    class Getter:
        __get__ = staticmethod(lambda *given: function)

    class Slotted:
        __slots__ = ("__len__",)

        def __init__(self):
            self.__len__ = function

    class Base:
        __len__ = staticmethod(function)

    class Derived(Base):
        pass

    def kind(value):
        return type("Kind", (), {"__len__": value})

    return [
        kind(staticmethod(function)),
        kind(staticmethod(functools.partial(function))),
        kind(types.MethodType(list.__len__, state.items)),
        kind(staticmethod(types.MethodType(list.__len__, state.items))),
        kind(functools.partial(function)),
        kind(functools.partialmethod(lambda self, function: function(), function)),
        kind(property(lambda self: function)),
        kind(property(lambda self: types.MethodType(list.__len__, state.items))),
        kind(property(operator.attrgetter("by"))),
        kind(Caller()),
        kind(staticmethod(Caller())),
        kind(Getter()),
        Slotted,
        Derived,
        kind(functools.lru_cache(function)),
    ]


@program
def a_length_in_c_held_in_each_way(s):
    each(s, in_each_way, len)


@program
def a_length_in_c_of_an_object_in_a_list(s):
    each(s, in_each_way, lambda one: sum(map(len, [one])))


@program
def a_length_in_c_of_an_object_that_it_makes(s):
    each(s, in_each_way, lambda one: len(type(one)()))


@program
def a_class_method_in_c(s):
    each(
        s,
        lambda state: [
            type("Kind", (), {"__class_getitem__": staticmethod(state.values.get)}),
            type("Kind", (), {"__class_getitem__": classmethod(functools.partial(lambda v, k, n: v[n], state.values))}),
        ],
        lambda one: type(one)["scale"],
    )


@program
def methods_of_a_metaclass_in_c(s):
    def kinds(state):
        def meta(**methods):
            return type("Meta", (type,), methods)("Kind", (), {})

        return [
            meta(__len__=staticmethod(state.items.__len__)),
            meta(__iter__=staticmethod(state.items.__iter__)),
            meta(__getitem__=staticmethod(state.values.get)),
            meta(__contains__=staticmethod(state.items.__contains__)),
            meta(__instancecheck__=staticmethod(state.items.__contains__)),
            meta(__getattr__=staticmethod(state.values.get)),
            meta(__subclasscheck__=staticmethod(state.items.__contains__)),
        ]

    reads = (
        len,
        sum,
        lambda kind: kind["scale"],
        lambda kind: 1 + (4 in kind),
        lambda kind: 1 + isinstance(4, kind),
        lambda kind: kind.scale,
        lambda kind: 1 + issubclass(int, kind),
    )
    for i, read in enumerate(reads):
        state = State()
        kind = kinds(state)[i]
        f = s.compile(lambda x, kind=kind, read=read: x * read(kind))
        s.calls(3, f, x3())
        state.change(5)
        s.calls(2, f, x3())


@program
def objects_made_by_c(s):
    for name in ("__new__", "__call__"):
        made = {}
        if name == "__new__":
            kind = type("Kind", (), {"__new__": staticmethod(made.get)})
        else:
            kind = type("Meta", (type,), {"__call__": made.get})("Kind", (), {})
        make = kind if name == "__new__" else (lambda kind=kind: kind("n"))
        made[kind] = made["n"] = 2.0
        f = s.compile(lambda x, make=make: x * make())
        s.calls(3, f, x3())
        made[kind] = made["n"] = 5.0
        s.calls(2, f, x3())


@program
def an_object_that_c_sets_up(s):
    log = s.watch([])
    kind = type("Kind", (), {"__init__": staticmethod(log.append), "__setattr__": staticmethod(lambda *given: None)})
    f = s.compile(lambda x: (kind(1.0), x * 2)[1])
    s.calls(4, f, x3())
    log.clear()
    s.calls(2, f, x3())


@program
def attributes_that_c_sets(s):
    values = s.watch({})
    kind = type("Kind", (), {"__setattr__": staticmethod(values.__setitem__)})
    one = kind()

    def function(x):
        one.scale = 2.0
        return x * 2

    def function_of_a_new_one(x):
        object.__new__(kind).scale = 3.0
        return x * 2

    for each_one in (function, function_of_a_new_one):
        f = s.compile(each_one)
        s.calls(3, f, x3())
        values.clear()
        s.calls(2, f, x3())


@program
def attributes_that_a_descriptor_in_c_sets_and_gives(s):
    state = {"one": 2.0}

    class Giver:
        __get__ = staticmethod(lambda *given: state["one"])

    class Bound:
        __get__ = types.MethodType(lambda state, *given: state["one"], state)
        __set__ = staticmethod(lambda *given: state.update(one=given[-1]))

    class Reader:
        a, b = Giver(), Bound()

    one = Reader()
    f = s.compile(lambda x: x * one.a * one.b)
    s.calls(3, f, x3())
    state["one"] = 3.0
    s.calls(2, f, x3())
    one.b = 4.0
    s.calls(2, f, x3())
    keyed = {}
    getter = type("Getter", (), {"__get__": functools.partial(lambda keyed, *given: keyed["n"], keyed)})
    got = type("Kind", (), {"scale": getter()})()
    keyed["n"] = 2.0
    g = s.compile(lambda x: x * got.scale)
    s.calls(3, g, x3())
    keyed["n"] = 5.0
    s.calls(2, g, x3())


@program
def what_is_missing_in_a_dict_comes_from_c(s):
    others = {"scale": 2.0}
    for kind in (
        type("Kind", (dict,), {"__missing__": staticmethod(others.get)}),
        type("Kind", (dict,), {"__missing__": types.MethodType(lambda others, self, key: others[key], others)}),
    ):
        older = kind()
        others["scale"] = 2.0
        f, g = s.compile(lambda x, older=older: x * older["scale"]), s.compile(lambda x, kind=kind: x * kind()["scale"])
        for function in (f, g):
            s.calls(3, function, x3())
            others["scale"] += 3.0
            s.calls(2, function, x3())


@program
def a_dict_whose_class_gets_a_getter(s):
    kind = type("Kind", (dict,), {})
    one = kind(scale=2.0)
    f = s.compile(lambda x: x * one["scale"])
    s.calls(3, f, x3())
    kind.__getitem__ = lambda self, key: 5.0
    s.calls(2, f, x3())


@program
def keys_whose_equality_is_in_c(s):
    items = [1]

    class Key:
        __hash__ = staticmethod((1).__hash__)
        __eq__ = staticmethod(items.__contains__)

    older, key = {Key(): 2.0}, Key()
    f = s.compile(lambda x: x * older.get(1, 3.0))
    g = s.compile(lambda x: x * len({key: 1, 1: 2}))
    h = s.compile(lambda x: x * (1 + (1 in {key})))
    for function in (f, g, h):
        s.calls(3, function, x3())
        items[:] = [] if items else [1]
        s.calls(2, function, x3())


@program
def a_key_that_is_a_bound_method_in_c(s):
    table = {"a": 2.0, "b": 1.0}
    for make in (
        lambda: types.MethodType(dict.get, table),
        lambda: functools.partial(dict.get, table),
        lambda: table.get,
        lambda: type("Kind", (), {"__call__": staticmethod(table.get)})(),
        lambda: operator.methodcaller("__class__"),
    )[:4]:
        key = make()
        for function in (
            lambda x, key=key: x * ord(max("ab", key=key)),
            lambda x, key=key: x * sum(map(key, "ab")),
            lambda x, key=key: x * ord(sorted("ab", key=key)[0]),
            lambda x, key=key: x * sum(1.0 for one in filter(key, "ab")),
        ):
            table.update(a=2.0, b=1.0)
            f = s.compile(function)
            s.calls(3, f, x3())
            table.update(a=0.0, b=5.0)
            s.calls(2, f, x3())


@program
def getters_of_the_operator_module(s):
    one, items = types.SimpleNamespace(n=2.0, more=types.SimpleNamespace(n=3.0)), [2.0, 3.0]
    for function in (
        lambda x, get=operator.attrgetter("n"): x * get(one),
        lambda x, get=operator.attrgetter("more.n"): x * get(one),
        lambda x, get=operator.attrgetter("n", "more.n"): x * get(one)[1],
        lambda x, get=operator.itemgetter(1): x * get(items),
        lambda x, get=operator.itemgetter(0, 1): x * get(items)[1],
        lambda x, get=operator.methodcaller("__getitem__", 1): x * get(items),
        lambda x: x * operator.itemgetter(1)(items),
        lambda x: x * operator.attrgetter("n")(one),
        lambda x: x * operator.methodcaller("__getitem__", 1)(items),
        lambda x, get=operator.itemgetter(1): x * max([items], key=get)[1],
        lambda x, get=operator.attrgetter("more.n"): x * max([one], key=get).more.n,
    ):
        f = s.compile(function)
        s.calls(3, f, x3())
        one.n, one.more, items[1] = one.n + 1, types.SimpleNamespace(n=one.more.n + 2), items[1] + 3
        s.calls(2, f, x3())


@program
def a_partial_method(s):
    state = State()

    class Kind:
        def __init__(self):
            self.n = 2.0

        def times(self, factor, more):
            return self.n * factor * more

        double = functools.partialmethod(times, 2.0)
        of_c = functools.partialmethod(state.values.get)
        scale = functools.partialmethod(lambda self, values: values["scale"], state.values)

    one = Kind()
    f = s.compile(lambda x: x * one.double(3.0))
    g = s.compile(lambda x: x * one.scale())
    s.calls(3, f, x3())
    one.n = 5.0
    s.calls(2, f, x3())
    Kind.double = functools.partialmethod(Kind.times, 7.0)
    s.calls(2, f, x3())
    s.calls(3, g, x3())
    state.change(5)
    s.calls(2, g, x3())


@program
def a_class_that_it_makes_with_hooks_in_c(s):
    log, names = s.watch([]), s.watch({})

    class Base:
        __init_subclass__ = staticmethod(functools.partial(log.append, 1.0))

    class Named:
        __set_name__ = staticmethod(lambda owner, name: names.update({name: len(names)}))

    def function(x):
        class Made(Base):
            pass

        return x * len(log)

    def function_of_names(x):
        class Made:
            a = Named()

        return x * len(names)

    for one in (function, function_of_names):
        s.calls(4, s.compile(one), x3())
        log.clear()
        names.clear()
        s.call(s.compile(one), x3())


@program
def a_setter_of_attributes_that_deletes_in_c(s):
    log = s.watch([])
    kind = type("Kind", (), {"__delattr__": staticmethod(log.append), "__delitem__": staticmethod(log.append)})

    def function(x):
        one = kind()
        del one.scale
        del one["scale"]
        return x * 2

    s.calls(4, s.compile(function), x3())
