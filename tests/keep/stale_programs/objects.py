"""Attributes of objects, in whatever way they change between calls."""

import dataclasses
import functools
import types

import clew

from .harness import program
from .values import Plain, x3


@program
def an_attribute_that_is_set(s):
    settings = Plain(factor=2.0)
    f, x = s.compile(lambda x: x * settings.factor), x3()
    s.calls(2, f, x)
    settings.factor = 3.0
    s.call(f, x)
    setattr(settings, "factor", clew.full((3,), 4.0))  # noqa: B010
    s.calls(2, f, x)


@program
def an_attribute_set_through_the_dict(s):
    settings = Plain(factor=2.0)
    f, x = s.compile(lambda x: x * settings.factor), x3()
    s.calls(2, f, x)
    settings.__dict__["factor"] = 3.0
    s.call(f, x)
    vars(settings).update(factor=5.0)
    s.call(f, x)


@program
def a_dict_that_is_assigned(s):
    settings = Plain(factor=2.0)
    f, x = s.compile(lambda x: x * settings.factor), x3()
    s.calls(2, f, x)
    settings.__dict__ = {"factor": 3.0}
    s.calls(2, f, x)


@program
def an_attribute_of_the_class_that_gets_hidden(s):
    class Settings:
        factor = 2.0

    settings = Settings()
    f, x = s.compile(lambda x: x * settings.factor), x3()
    s.calls(2, f, x)
    settings.factor = 3.0
    s.call(f, x)
    del settings.factor
    Settings.factor = 4.0
    s.call(f, x)


@program
def an_attribute_that_is_deleted(s):
    settings = Plain(factor=2.0)
    f, x = s.compile(lambda x: x * getattr(settings, "factor", 10.0)), x3()
    s.calls(2, f, x)
    del settings.factor
    s.calls(2, f, x)


@program
def an_attribute_that_appears(s):
    settings = Plain()
    f, x = s.compile(lambda x: x + 1 if hasattr(settings, "factor") else x - 1), x3()
    s.calls(2, f, x)
    settings.factor = 2.0
    s.call(f, x)


@program
def two_objects_that_trade_places(s):
    pair = Plain(left=Plain(factor=2.0), right=Plain(factor=3.0))
    f, x = s.compile(lambda x: x * pair.left.factor - pair.right.factor), x3()
    s.calls(2, f, x)
    pair.left, pair.right = pair.right, pair.left
    s.call(f, x)
    pair.left.__dict__, pair.right.__dict__ = pair.right.__dict__, pair.left.__dict__
    s.call(f, x)


@program
def slots(s):
    class Slotted:
        __slots__ = ("factor", "shift")

    settings = Slotted()
    settings.factor = 2.0
    f, x = s.compile(lambda x: x * settings.factor + getattr(settings, "shift", 0.0)), x3()
    s.calls(2, f, x)
    settings.factor = 3.0
    s.call(f, x)
    settings.shift = 1.0
    s.call(f, x)
    del settings.shift
    s.call(f, x)


@program
def a_slot_that_it_sets(s):
    class Slotted:
        __slots__ = ("last",)

    settings = Slotted()
    settings.last = clew.zeros(3)

    @s.compile
    def f(x):
        settings.last = settings.last + x
        return settings.last * 2

    for _ in range(4):
        s.call(f, x3())
        s.note(settings.last)


@program
def an_object_as_argument_that_changes(s):
    f, settings, x = s.compile(lambda x, settings: x * settings.factor), Plain(factor=2.0), x3()
    s.calls(2, f, x, settings)
    settings.factor = 3.0
    s.call(f, x, settings)
    s.call(f, x, Plain(factor=7.0))


@program
def an_object_at_the_same_address(s):
    f, x = s.compile(lambda x, settings: x * settings.factor), x3()
    for factor in (2.0, 2.0, 3.0, 4.0, 5.0):
        settings = Plain(factor=factor)
        s.call(f, x, settings)
        del settings


@program
def a_bound_method_as_argument(s):
    class Scaler:
        def __init__(self, factor):
            self.factor = factor

        def scale(self, x):
            return x * self.factor

    scaler = Scaler(2.0)
    f, x = s.compile(lambda x, way: way(x)), x3()
    s.calls(3, f, x, scaler.scale)
    scaler.factor = 3.0
    s.calls(2, f, x, scaler.scale)


@program
def a_function_that_is_a_method(s):
    class Scaler:
        def __init__(self, factor):
            self.factor = factor

        @s.compile
        def scale(self, x):
            return x * self.factor

    two, three = Scaler(2.0), Scaler(3.0)
    s.calls(2, two.scale, x3())
    s.calls(2, three.scale, x3())
    two.factor = 5.0
    s.call(two.scale, x3())


@program
def a_dataclass(s):
    @dataclasses.dataclass
    class Settings:
        factor: float
        shift: float = 0.0

    settings = Settings(2.0)
    f, x = s.compile(lambda x, settings: x * settings.factor + settings.shift), x3()
    s.calls(2, f, x, settings)
    settings.shift = 1.0
    s.call(f, x, settings)
    s.call(f, x, dataclasses.replace(settings, factor=9.0))


@program
def a_dataclass_that_is_compared(s):
    @dataclasses.dataclass
    class Settings:
        factor: float

    now, wanted = Settings(2.0), Settings(2.0)
    f, x = s.compile(lambda x: x * 2 if now == wanted else x * 3), x3()
    s.calls(2, f, x)
    now.factor = 3.0
    s.call(f, x)
    Settings.__eq__ = lambda one, other: True
    s.call(f, x)


@program
def a_frozen_dataclass_changed_by_force(s):
    @dataclasses.dataclass(frozen=True)
    class Settings:
        factor: float

    settings = Settings(2.0)
    f, x = s.compile(lambda x: x * settings.factor), x3()
    s.calls(2, f, x)
    object.__setattr__(settings, "factor", 3.0)
    s.call(f, x)


@program
def a_dataclass_that_it_returns(s):
    @dataclasses.dataclass
    class Output:
        value: object
        note: str = "made"

    f = s.compile(lambda x: Output(x * 2))
    for factor in (1.0, 2.0, 3.0):
        output = s.call(f, x3() * factor)
        output.note = "changed by the caller"
    s.note()


@program
def a_cached_property(s):
    class Model:
        factor = 2.0

        @functools.cached_property
        def weight(self):
            return clew.full((3,), self.factor)

    model = Model()
    f, x = s.compile(lambda x: x * model.weight), x3()
    s.calls(3, f, x)
    model.factor = 3.0
    s.call(f, x)
    del model.weight
    s.calls(2, f, x)


@program
def a_namespace(s):
    settings = types.SimpleNamespace(inner=types.SimpleNamespace(factor=2.0))
    f, x = s.compile(lambda x: x * settings.inner.factor), x3()
    s.calls(2, f, x)
    settings.inner.factor = 3.0
    s.call(f, x)
    settings.inner = types.SimpleNamespace(factor=4.0)
    s.call(f, x)


@program
def an_attribute_of_a_tensor(s):
    weight = clew.ones(3)
    weight.decay = 0.5
    f, x = s.compile(lambda x: x * weight * weight.decay), x3()
    s.calls(2, f, x)
    weight.decay = 0.25
    s.call(f, x)
    del weight.decay
    s.call(f, x)


@program
def truth_of_an_object(s):
    class Gate:
        def __init__(self):
            self.open = True

        def __bool__(self):
            return self.open

    gate = Gate()
    f, x = s.compile(lambda x: x * 2 if gate else x), x3()
    s.calls(2, f, x)
    gate.open = False
    s.call(f, x)
    Gate.__bool__ = lambda self: True
    s.call(f, x)
    del Gate.__bool__
    Gate.__len__ = lambda self: 0
    s.call(f, x)
