"""Classes, their bases, metaclasses and what is asked of them, that change between calls."""

import enum
import types

import clew

from .harness import program
from .values import call_with_other_values, scaler, x3


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
def an_enumeration(s):
    class Way(enum.Enum):
        UP = 1
        DOWN = 2

    f, x = s.compile(lambda x, way: (x + 1 if way is Way.UP else x - 1) * way.value), x3()
    s.calls(2, f, x, Way.UP)
    s.calls(2, f, x, Way.DOWN)
    Way.UP._value_ = 10
    s.call(f, x, Way.UP)


def a_class_that_the_call_makes(s, make):
    def f(x):
        kind = make("Kind", (), {"log": []})
        kind.log.append(float(x.sum()))
        return x * 2, kind.log

    call_with_other_values(s, f)


@program
def a_class_that_type_makes(s):
    a_class_that_the_call_makes(s, type)


@program
def a_class_that_a_metaclass_makes(s):
    class Meta(type):
        pass

    a_class_that_the_call_makes(s, Meta)


@program
def a_class_from_the_new_of_type(s):
    a_class_that_the_call_makes(s, lambda *parts: type.__new__(type, *parts))


def another_class_of_a_captured_tensor(s, factor):
    class First(clew.Tensor):
        pass

    class Second(clew.Tensor):
        pass

    tensor = x3().as_subclass(First)
    f, x = s.compile(lambda x: x * factor(tensor, First)), x3()
    s.calls(2, f, x)
    tensor.__class__ = Second
    s.calls(2, f, x)


@program
def the_type_of_a_captured_tensor(s):
    another_class_of_a_captured_tensor(s, lambda tensor, first: 1 if type(tensor) is first else 2)


@program
def what_a_captured_tensor_is_an_instance_of(s):
    another_class_of_a_captured_tensor(s, lambda tensor, first: 1 if isinstance(tensor, first) else 2)


@program
def the_class_attribute_of_a_captured_tensor(s):
    another_class_of_a_captured_tensor(s, lambda tensor, first: 1 if tensor.__class__ is first else 2)


@program
def another_class_of_a_module_of_python(s):
    class Other(types.ModuleType):
        factor = property(lambda self: 7)

    module = types.ModuleType("module")
    module.factor = 3
    f, x = s.compile(lambda x: x * module.factor), x3()
    s.calls(2, f, x)
    module.__class__ = Other
    s.calls(2, f, x)
