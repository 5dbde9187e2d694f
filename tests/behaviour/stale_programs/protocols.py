"""Special methods and built-in attributes that C code reads by itself, and that change between calls."""

import abc
import functools
import operator
import types

import clew

from .harness import program


def x3():
    return clew.tensor([1.0, 2.0, 3.0])


class Number:
    """A number of a user's class."""

    def __init__(self, value=2.0):
        self.value = value


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
    patched(s, "__iter__", lambda self: iter([2.0]), lambda self: iter([3.0]), lambda one: list(one)[0])


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
    f = s.compile(lambda x: (x * 2, "{0.value}".format(one), "{a.value}".format(a=one)))  # noqa: UP032
    s.calls(2, f, x3())
    one.value = 3.0
    s.call(f, x3())


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
def the_name_of_a_function(s):
    def helper():
        """Before."""

    f = s.compile(lambda x: (x * len(helper.__name__), helper.__doc__, helper.__qualname__))
    s.calls(2, f, x3())
    helper.__name__ = "renamed"
    s.call(f, x3())
    helper.__doc__ = "After."
    s.call(f, x3())


@program
def the_closure_of_a_function(s):
    factor = 2.0

    def helper():
        return factor

    f = s.compile(lambda x: x * helper.__closure__[0].cell_contents)
    s.calls(2, f, x3())
    factor = 3.0
    s.call(f, x3())


@program
def the_defaults_of_a_function_as_values(s):
    def helper(a=2.0, *, b=3.0):
        return a * b

    f = s.compile(lambda x: x * helper.__defaults__[0] + helper.__kwdefaults__["b"])
    s.calls(2, f, x3())
    helper.__defaults__ = (5.0,)
    s.call(f, x3())
    helper.__kwdefaults__["b"] = 7.0
    s.call(f, x3())


@program
def annotations_of_a_function(s):
    def helper(a: int):
        return a

    f = s.compile(lambda x: x * 2 if helper.__annotations__["a"] is int else x * 3)
    s.calls(2, f, x3())
    helper.__annotations__["a"] = float
    s.call(f, x3())


@program
def the_dict_of_a_module(s):
    module = types.ModuleType("settings")
    module.factor = 2.0
    f = s.compile(lambda x: x * module.__dict__["factor"])
    s.calls(2, f, x3())
    module.factor = 3.0
    s.call(f, x3())


@program
def the_order_of_bases(s):
    class Base:
        factor = 2.0

    class Other:
        factor = 3.0

    class Kind(Base):
        pass

    f = s.compile(lambda x: x * Kind.__mro__[1].factor + Kind.__bases__[0].factor)
    s.calls(2, f, x3())
    Kind.__bases__ = (Other,)
    s.call(f, x3())


@program
def the_subclasses(s):
    class Base:
        pass

    class Kind(Base):
        pass

    f = s.compile(lambda x: x * len(Base.__subclasses__()))
    s.calls(2, f, x3())
    s.watched.append(type("Another", (Kind, Base), {}))
    s.call(f, x3())


@program
def a_class_that_is_registered(s):
    class Base(abc.ABC):
        """Abstract."""

    one = Number()
    f = s.compile(lambda x: x * 2 if isinstance(one, Base) else x * 3)
    s.calls(2, f, x3())
    Base.register(Number)
    s.call(f, x3())


@program
def hasattr_of_a_class_and_callable(s):
    class Kind:
        pass

    one = Kind()
    f = s.compile(lambda x: x * (2 if hasattr(Kind, "factor") else 3) + callable(one))
    s.calls(2, f, x3())
    Kind.factor = 1
    s.call(f, x3())
    Kind.__call__ = lambda self: None
    s.call(f, x3())
