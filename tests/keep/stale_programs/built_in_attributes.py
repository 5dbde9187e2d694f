"""Attributes of functions, modules and classes that Python itself keeps, and that change between calls."""

import abc
import types

from .harness import program
from .values import Number, x3


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
    class Base(abc.ABC):  # noqa: B024 - classes are registered with it
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
