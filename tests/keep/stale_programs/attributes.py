"""Properties, other descriptors and special methods that find or set attributes, and that change between calls."""

import clew

from .harness import program
from .values import x3


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
def a_property_that_appends_to_its_list(s):
    class Log(list):
        last = property(None, list.append)

    log = s.watch(Log())

    @s.compile
    def f(x):
        log.last = x * 2
        return x * 3

    s.calls(3, f, x3())


@program
def a_property_of_a_list_of_the_call_that_extends_one_from_before(s):
    kept = s.watch([])

    class Log(list):
        last = property(None, lambda log, value: kept.append(value))
        pair = property(None, list.extend)

    @s.compile
    def f(x):
        log = Log()
        log.last = x * 2
        log.pair = [x.sum().item(), 1.0]
        return x * 3, sum(log)

    for factor in (1.0, 2.0, 3.0):
        s.call(f, x3() * factor)
