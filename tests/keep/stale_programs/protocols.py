"""Special methods that C code reads by itself, and that change between calls."""

import types

from .harness import program
from .values import Number, x3


def patched(s, name, before, after, read):
    """`read` reads an instance of a class whose method `name` is replaced."""

    class Kind(Number):
        pass

    if before is not None:
        setattr(Kind, name, before)
    one = Kind()
    f = s.compile(lambda x: x * read(one))
    s.calls(2, f, x3())
    setattr(Kind, name, after)
    s.calls(2, f, x3())


@program
def float_of_an_object(s):
    patched(s, "__float__", lambda self: 2.0, lambda self: 3.0, lambda one: float(one))


@program
def int_of_an_object(s):
    patched(s, "__int__", lambda self: 2, lambda self: 3, lambda one: int(one))


@program
def bool_of_an_object(s):
    patched(s, "__bool__", lambda self: True, lambda self: False, lambda one: bool(one))


@program
def an_object_as_an_index(s):
    patched(s, "__index__", lambda self: 0, lambda self: 1, lambda one: [2.0, 3.0][one])


@program
def the_text_of_an_object(s):
    patched(s, "__str__", lambda self: "a", lambda self: "bcd", lambda one: len(str(one)))


@program
def a_list_of_an_object(s):
    patched(s, "__iter__", lambda self: iter([2.0]), lambda self: iter([3.0]), lambda one: list(one)[0])  # noqa: RUF015


@program
def a_sum_of_an_object(s):
    patched(s, "__iter__", lambda self: iter([2.0]), lambda self: iter([3.0]), lambda one: sum(one))


@program
def a_star_of_an_object(s):
    patched(s, "__iter__", lambda self: iter([2.0]), lambda self: iter([3.0]), lambda one: max(*one, 1.0))


@program
def plus_of_an_object(s):
    patched(s, "__pos__", lambda self: 2.0, lambda self: 3.0, lambda one: +one)


@program
def a_division_in_place(s):
    def read(one):
        one //= 2
        return one if isinstance(one, float) else 1.0

    patched(s, "__floordiv__", lambda self, other: 2.0, lambda self, other: 3.0, read)


@program
def a_division_in_place_that_is_added(s):
    def read(one):
        made = type(one)()
        made //= 2
        return made

    def after(self, other):
        return 7.0

    class Kind(Number):
        def __floordiv__(self, other):
            return 2.0

    one = Kind()
    f = s.compile(lambda x: x * read(one))
    s.calls(2, f, x3())
    Kind.__ifloordiv__ = after
    s.call(f, x3())


@program
def next_of_an_object_that_it_makes(s):
    class Once:
        def __iter__(self):
            return self

        def __next__(self):
            return 2.0

    @s.compile
    def f(x):
        for factor in Once():
            return x * factor

    s.calls(2, f, x3())
    Once.__next__ = lambda self: 3.0
    s.call(f, x3())


@program
def setattr_of_an_object_that_it_makes(s):
    class Point:
        pass

    @s.compile
    def f(x):
        point = Point()
        point.value = 2.0
        return x * point.value

    s.calls(2, f, x3())
    Point.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 5)
    s.call(f, x3())


@program
def setitem_of_an_object(s):
    class Table:
        def __init__(self):
            self.value = 0.0

        def __setitem__(self, key, value):
            self.value = value

    @s.compile
    def f(x):
        table = Table()
        table["a"] = 2.0
        return x * table.value

    s.calls(2, f, x3())
    Table.__setitem__ = lambda self, key, value: setattr(self, "value", value * 5)
    s.call(f, x3())


@program
def hash_and_equality_of_keys(s):
    class Key:
        def __init__(self, name):
            self.name = name

        def __hash__(self):
            return 1

        def __eq__(self, other):
            return self.name == other.name

    table, key = {Key("a"): 2.0, Key("b"): 3.0}, Key("a")
    f = s.compile(lambda x: x * table[key])
    s.calls(2, f, x3())
    key.name = "b"
    s.call(f, x3())


@program
def equality_inside_lists(s):
    class Key:
        pass

    now, wanted = [Key()], [Key()]
    f = s.compile(lambda x: x * 2 if now == wanted else x * 3)
    s.calls(2, f, x3())
    Key.__eq__ = lambda self, other: True
    s.call(f, x3())


@program
def objects_that_are_sorted(s):
    class Layer:
        def __init__(self, order):
            self.order = order

        def __lt__(self, other):
            return self.order < other.order

    layers = [Layer(1.0), Layer(2.0)]
    f = s.compile(lambda x: x * sorted(layers)[0].order)
    s.calls(2, f, x3())
    Layer.__lt__ = lambda self, other: self.order > other.order
    s.call(f, x3())


@program
def a_format_that_reads_attributes(s):
    one = Number(2.0)
    f = s.compile(lambda x: (x * 2, "{0.value}".format(one), "{a.value}".format(a=one)))  # noqa: UP030, UP032
    s.calls(2, f, x3())
    one.value = 3.0
    s.call(f, x3())


@program
def a_module_whose_class_gives_attributes(s):
    factors = {"factor": 2.0}

    class Given(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return factors[name]

    module = Given("given")
    f, x = s.compile(lambda x: x * module.factor), x3()
    s.calls(3, f, x)
    factors["factor"] = 3.0
    s.calls(3, f, x)
    module.__dict__["__getattr__"] = lambda name: 4.0
    s.calls(3, f, x)
    module.factor = 5.0
    s.calls(3, f, x)
    del module.factor, module.__dict__["__getattr__"]
    s.calls(3, f, x)
    Given.__getattr__ = lambda self, name: 6.0
    s.calls(3, f, x)
    Given.factor = 7.0
    s.calls(3, f, x)
