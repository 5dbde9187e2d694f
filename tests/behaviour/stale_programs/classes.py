"""Classes, bases, methods, properties and other descriptors that change between calls."""

import enum

import clew
from clew import nn

from .harness import program


def x3():
    return clew.tensor([1.0, 2.0, 3.0])


def scaler(factor=2.0):
    class Scaler:
        def __init__(self):
            self.factor = factor

        def scale(self, x):
            return x * self.factor

    return Scaler


@program
def a_method_that_is_patched(s):
    kind = scaler()
    one = kind()
    f, x = s.compile(lambda x: one.scale(x)), x3()
    s.calls(2, f, x)
    kind.scale = lambda self, x: x - self.factor
    s.calls(2, f, x)
    one.scale = lambda x: x * 100
    s.call(f, x)


@program
def another_class(s):
    kind = scaler()

    class Other(kind):
        def scale(self, x):
            return x - 1

    one = kind()
    f, x = s.compile(lambda x: one.scale(x)), x3()
    s.calls(2, f, x)
    one.__class__ = Other
    s.calls(2, f, x)


@program
def other_bases(s):
    class Base:
        def scale(self, x):
            return x * 2

    class Other:
        def scale(self, x):
            return x * 3

    class Kind(Base):
        pass

    one = Kind()
    f, x = s.compile(lambda x: one.scale(x)), x3()
    s.calls(2, f, x)
    Kind.__bases__ = (Other,)
    s.calls(2, f, x)


@program
def a_method_of_a_base_after_super(s):
    class Base:
        def scale(self, x):
            return x * 2

    class Kind(Base):
        def scale(self, x):
            return super().scale(x) + 1

    one = Kind()
    f, x = s.compile(lambda x: one.scale(x)), x3()
    s.calls(2, f, x)
    Base.scale = lambda self, x: x * 30
    s.calls(2, f, x)


@program
def a_method_that_comes_between(s):
    class Base:
        factor = 2.0

    class Middle(Base):
        pass

    class Kind(Middle):
        pass

    one = Kind()
    f, x = s.compile(lambda x: x * one.factor), x3()
    s.calls(2, f, x)
    Middle.factor = 3.0
    s.call(f, x)
    del Middle.factor
    s.call(f, x)


@program
def a_property(s):
    class Kind:
        def __init__(self):
            self.hidden = 2.0

        @property
        def factor(self):
            return self.hidden

    one = Kind()
    f, x = s.compile(lambda x: x * one.factor), x3()
    s.calls(2, f, x)
    one.hidden = 3.0
    s.call(f, x)
    Kind.factor = property(lambda self: 7.0)
    s.call(f, x)


@program
def a_property_that_is_set(s):
    class Kind:
        def __init__(self):
            self.hidden = clew.zeros(3)

        @property
        def last(self):
            return self.hidden

        @last.setter
        def last(self, value):
            self.hidden = value * 2

    one = s.watch(Kind())

    @s.compile
    def f(x):
        one.last = one.last + x
        return one.last * 1

    for _ in range(4):
        s.call(f, x3())


@program
def a_descriptor_in_python(s):
    class Counted:
        def __init__(self):
            self.reads = 0

        def __get__(self, instance, owner):
            self.reads += 1
            return float(self.reads)

    class Kind:
        factor = Counted()

    one = Kind()
    f = s.compile(lambda x: x * one.factor)
    s.watch(Kind.__dict__["factor"])
    s.calls(4, f, x3())


@program
def a_descriptor_that_is_replaced(s):
    class Fixed:
        def __init__(self, value):
            self.value = value

        def __get__(self, instance, owner):
            return self.value

    class Kind:
        factor = Fixed(2.0)

    one = Kind()
    f, x = s.compile(lambda x: x * one.factor), x3()
    s.calls(2, f, x)
    Kind.__dict__["factor"].value = 3.0
    s.call(f, x)
    Kind.factor = Fixed(4.0)
    s.call(f, x)
    Fixed.__get__ = lambda self, instance, owner: 5.0
    s.call(f, x)
    Fixed.__set__ = lambda self, instance, value: None
    one.__dict__["factor"] = 6.0
    s.call(f, x)
    del Fixed.__set__
    s.call(f, x)


@program
def a_class_that_becomes_a_descriptor(s):
    class Value:
        factor = 2.0

    class Kind:
        value = Value()

    one = Kind()
    f, x = s.compile(lambda x: x * one.value.factor), x3()
    s.calls(2, f, x)
    Value.__get__ = lambda self, instance, owner: type("Now", (), {"factor": 9.0})
    s.call(f, x)


@program
def getattr_in_python(s):
    class Kind:
        def __init__(self):
            self.table = {"factor": 2.0}

        def __getattr__(self, name):
            return self.table[name]

    one = Kind()
    f, x = s.compile(lambda x: x * one.factor), x3()
    s.calls(2, f, x)
    one.table["factor"] = 3.0
    s.call(f, x)
    Kind.__getattr__ = lambda self, name: 4.0
    s.call(f, x)
    one.factor = 5.0
    s.call(f, x)


@program
def getattr_that_is_added(s):
    class Kind:
        pass

    one = Kind()
    f, x = s.compile(lambda x: x * getattr(one, "factor", 2.0)), x3()
    s.calls(2, f, x)
    Kind.__getattr__ = lambda self, name: 4.0
    s.call(f, x)


@program
def getattribute_in_python(s):
    class Kind:
        seen = 0

        def __getattribute__(self, name):
            Kind.seen += 1
            return object.__getattribute__(self, name)

    one = Kind()
    one.factor = 2.0
    f, x = s.compile(lambda x: x * one.factor), x3()
    for _ in range(3):
        s.call(f, x)
        s.note(Kind.seen)
    one.factor = 3.0
    s.call(f, x)


@program
def getattribute_that_is_added(s):
    class Kind:
        pass

    one = Kind()
    one.factor = 2.0
    f, x = s.compile(lambda x: x * one.factor), x3()
    s.calls(2, f, x)
    Kind.__getattribute__ = lambda self, name: 8.0
    s.call(f, x)


@program
def setattr_in_python(s):
    class Kind:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            object.__setattr__(self, "sets", self.__dict__.get("sets", 0) + 1)

    one = s.watch(Kind())

    @s.compile
    def f(x):
        one.last = x * 2
        return one.last + 1

    s.calls(3, f, x3())
    Kind.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 0)
    s.calls(2, f, x3())


@program
def setattr_that_is_added(s):
    class Kind:
        pass

    one = s.watch(Kind())
    one.last = None

    @s.compile
    def f(x):
        one.last = x * 2
        return x + 1

    s.calls(2, f, x3())
    Kind.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 100)
    s.calls(2, f, x3())


@program
def a_counter_of_the_class(s):
    class Kind:
        made = 0

        def __init__(self):
            Kind.made += 1

    f = s.compile(lambda x: (Kind(), x * Kind.made)[1])
    for _ in range(4):
        s.call(f, x3())
        s.note(Kind.made)


@program
def an_init_that_is_patched(s):
    class Kind:
        def __init__(self):
            self.factor = 2.0

    f, x = s.compile(lambda x: x * Kind().factor), x3()
    s.calls(2, f, x)
    Kind.__init__ = lambda self: setattr(self, "factor", 3.0)
    s.call(f, x)
    Kind.__new__ = lambda kind: object.__new__(scaler(9.0))
    s.call(f, x)


@program
def a_metaclass_that_makes_instances(s):
    class Meta(type):
        def __call__(cls):
            return 2.0

    class Kind(metaclass=Meta):
        pass

    f, x = s.compile(lambda x: x * Kind()), x3()
    s.calls(2, f, x)
    Meta.__call__ = lambda cls: 3.0
    s.call(f, x)


@program
def a_metaclass_attribute(s):
    class Meta(type):
        @property
        def factor(cls):
            return cls.hidden

    class Kind(metaclass=Meta):
        hidden = 2.0

    f, x = s.compile(lambda x: x * Kind.factor), x3()
    s.calls(2, f, x)
    Kind.hidden = 3.0
    s.call(f, x)
    Meta.factor = property(lambda cls: 5.0)
    s.call(f, x)


@program
def isinstance_after_another_class(s):
    class Kind:
        pass

    class Other:
        pass

    one = Kind()
    f, x = s.compile(lambda x: x * 2 if isinstance(one, Kind) else x * 3), x3()
    s.calls(2, f, x)
    one.__class__ = Other
    s.call(f, x)


@program
def isinstance_that_asks_the_class(s):
    class Meta(type):
        answer = True

        def __instancecheck__(cls, instance):
            return Meta.answer

    class Kind(metaclass=Meta):
        pass

    f, x = s.compile(lambda x: x * 2 if isinstance(5, Kind) else x * 3), x3()
    s.calls(2, f, x)
    Meta.answer = False
    s.call(f, x)
    Meta.__instancecheck__ = lambda cls, instance: True
    s.call(f, x)


@program
def issubclass_after_other_bases(s):
    class Base:
        pass

    class Other:
        pass

    class Kind(Base):
        pass

    f, x = s.compile(lambda x: x * 2 if issubclass(Kind, Base) else x * 3), x3()
    s.calls(2, f, x)
    Kind.__bases__ = (Other,)
    s.call(f, x)


@program
def type_of_an_object(s):
    class Kind:
        factor = 2.0

    class Other:
        factor = 3.0

    one = Kind()
    f, x = s.compile(lambda x: x * type(one).factor), x3()
    s.calls(2, f, x)
    one.__class__ = Other
    s.call(f, x)


@program
def a_name_of_a_class(s):
    class Kind:
        pass

    one = Kind()
    f, x = s.compile(lambda x: (x * 2, type(one).__name__, one.__class__.__qualname__)), x3()
    s.calls(2, f, x)
    Kind.__name__ = "Renamed"
    s.call(f, x)


@program
def a_static_and_a_class_method(s):
    class Kind:
        factor = 2.0

        @staticmethod
        def twice(x):
            return x * 2

        @classmethod
        def scale(cls, x):
            return x * cls.factor

    f, x = s.compile(lambda x: Kind.twice(x) + Kind.scale(x)), x3()
    s.calls(2, f, x)
    Kind.twice = staticmethod(lambda x: x * 20)
    s.call(f, x)
    Kind.scale = classmethod(lambda cls, x: x - cls.factor)
    s.call(f, x)
    Kind.factor = 9.0
    s.call(f, x)


@program
def an_enumeration(s):
    class Way(enum.Enum):
        UP = 1
        DOWN = 2

    f, x = s.compile(lambda x, way: (x + 1 if way is Way.UP else x - 1) * way.value), x3()
    s.calls(2, f, x, Way.UP)
    s.calls(2, f, x, Way.DOWN)
    Way.UP._value_ = 10
    s.call(f, x, Way.UP)


@program
def operators_of_a_class(s):
    class Factor:
        def __rmul__(self, x):
            return x * 2

        def __add__(self, other):
            return 10.0

    one = Factor()
    f, x = s.compile(lambda x: x * (one + 1.0)), x3()
    s.calls(2, f, x)
    Factor.__add__ = lambda self, other: 20.0
    s.call(f, x)


@program
def a_callable_object(s):
    class Layer:
        def __init__(self):
            self.factor = 2.0

        def __call__(self, x):
            return x * self.factor

    layer = Layer()
    f, x = s.compile(lambda x: layer(x)), x3()
    s.calls(2, f, x)
    layer.factor = 3.0
    s.call(f, x)
    Layer.__call__ = lambda self, x: x - 1
    s.call(f, x)


@program
def forward_that_is_patched(s):
    layer = nn.Linear(3, 3)
    f, x = s.compile(lambda x: layer(x)), x3()
    s.calls(2, f, x)
    layer.forward = lambda x: x * 2
    s.calls(2, f, x)
    del layer.forward
    before = nn.Linear.forward
    nn.Linear.forward = lambda self, x: before(self, x) + 100
    try:
        result = f(x)
    finally:
        nn.Linear.forward = before
    s.given.append(result)
    s.note()


@program
def a_method_of_tensor_that_is_patched(s):
    class Mine(clew.Tensor):
        def doubled(self):
            return self * 2

    x = x3().as_subclass(Mine)
    f = s.compile(lambda x: x.doubled())
    s.calls(2, f, x)
    Mine.doubled = lambda self: self * 3
    s.call(f, x)


@program
def a_context_manager_that_is_patched(s):
    class Factor:
        now = 1.0

        def __enter__(self):
            Factor.now = 5.0

        def __exit__(self, *error):
            Factor.now = 1.0

    def plain(x):
        with manager:
            return x * Factor.now

    manager = Factor()
    f, x = s.compile(plain), x3()
    s.calls(2, f, x)
    Factor.__enter__ = lambda self: setattr(Factor, "now", 7.0)
    s.call(f, x)
