"""What objects have of their class: by new objects, by super(), of a metaclass, of named tuples; and classes in C."""

import collections
import decimal
import functools
import operator
import typing

from clew import Tensor

from .harness import program
from .values import Plain, x3


def changed_in_place(s, function, items):
    f = s.compile(lambda x: x * function())
    s.calls(3, f, x3())
    items[0] += 4.0
    s.calls(2, f, x3())


def classes():
    class Base:
        items: typing.ClassVar = [1.0]

        @property
        def first(self):
            return self.items[0]

        @staticmethod
        def static():
            return Base.items[0]

    class Derived(Base):
        def by_super(self):
            return super().items[0]

        @classmethod
        def of_class(cls):
            return super().items[0]

    return Base, Derived


@program
def a_class_attribute_of_a_new_object(s):
    Base, Derived = classes()
    changed_in_place(s, lambda: Base().items[0] + Derived().first, Base.items)


@program
def a_class_attribute_by_super(s):
    Base, Derived = classes()
    one = Derived()
    changed_in_place(s, lambda: one.by_super() + Derived().by_super() + Derived.of_class(), Base.items)


@program
def a_class_attribute_by_a_super_of_its_own(s):
    Base, Derived = classes()
    one = Derived()
    changed_in_place(s, lambda: super(Derived, one).items[0] + super(Derived, Derived).items[0], Base.items)


@program
def a_property_by_super(s):
    class Base:
        def __init__(self):
            self.items = [1.0]

        @property
        def first(self):
            return self.items

    class Derived(Base):
        @property
        def first(self):
            return super().first[0]

    one = Derived()
    changed_in_place(s, lambda: one.first, one.items)


@program
def a_slot_by_super(s):
    class Base:
        __slots__ = ("items",)

    class Derived(Base):
        def first(self):
            return super().items[0]

    one = Derived()
    one.items = [1.0]
    f = s.compile(lambda x: x * one.first())
    s.calls(3, f, x3())
    one.items[0] = 5.0
    s.calls(2, f, x3())
    one.items = [7.0]
    s.calls(2, f, x3())


@program
def a_class_attribute_of_a_metaclass(s):
    class Meta(type):
        settings: typing.ClassVar = [1.0]

        @property
        def first(cls):
            return cls.items[0]

    class Made(metaclass=Meta):
        items: typing.ClassVar = [1.0]

    changed_in_place(s, lambda: Made.settings[0], Meta.settings)
    changed_in_place(s, lambda: Made.first, Made.items)


@program
def a_bound_method_as_a_class_attribute(s):
    holder = Plain(items=[1.0])

    class Holder:
        def first(self):
            return holder.items[0]

        def own(self):
            return self.items[0]

    other = Holder()
    other.items = [2.0]

    class Made:
        bound = other.own
        fixed = staticmethod(other.own)

    changed_in_place(s, lambda: Made().bound() + Made.bound(), other.items)
    changed_in_place(s, lambda: Made().fixed() + Made.fixed(), other.items)


@program
def fields_of_a_named_tuple(s):
    class Typed(typing.NamedTuple):
        items: list

        @property
        def first(self):
            return self.items[0]

    class Derived(collections.namedtuple("Derived", "items")):
        __slots__ = ()

        def first(self):
            return super().items[0]

    typed, derived = Typed([1.0]), Derived([1.0])
    changed_in_place(s, lambda: typed.items[0], typed.items)
    changed_in_place(s, lambda: typed.first, typed.items)
    changed_in_place(s, lambda: derived.first() + derived.items[0], derived.items)


@program
def a_list_that_a_cached_property_gave(s):
    class Made:
        @functools.cached_property
        def items(self):
            return [1.0]

    one = Made()
    changed_in_place(s, lambda: one.items[0], one.items)


@program
def a_class_attribute_of_a_subclass_of_tensors(s):
    class Scaled(Tensor):
        items: typing.ClassVar = [1.0]
        factor = 2.0

    tensor = x3().as_subclass(Scaled)
    changed_in_place(s, lambda: tensor.items[0] * tensor.factor, Scaled.items)
    f = s.compile(lambda x: x * tensor.factor)
    s.calls(3, f, x3())
    tensor.factor = 5.0
    s.calls(2, f, x3())
    tensor.factor = 6.0
    s.calls(2, f, x3())


@program
def a_context_of_decimals(s):
    def third():
        return float(decimal.Decimal(1) / 3)

    class Derived(decimal.Decimal):
        pass

    f = s.compile(lambda x: x * third() + float(Derived(2) / 3))
    before = decimal.getcontext().prec
    try:
        for precision in (28, 28, 28, 3, 3, 5):
            decimal.getcontext().prec = precision
            s.call(f, x3())
    finally:
        decimal.getcontext().prec = before


@program
def items_by_a_getter_of_operator(s):
    pairs = [(2.0, 1.0), (1.0, 3.0)]
    f = s.compile(lambda x: x * sorted(pairs, key=operator.itemgetter(0))[0][1])
    s.calls(3, f, x3())
    pairs[0] = (0.0, 7.0)
    s.calls(2, f, x3())
