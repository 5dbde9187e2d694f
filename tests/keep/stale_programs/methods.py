"""Methods that are replaced between calls."""

import clew
from clew import nn

from .harness import program
from .values import scaler, x3


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


def tensors_are_patched(s, function, name, replacement):
    f, x = s.compile(function), x3()
    s.calls(2, f, x)
    before = getattr(clew.Tensor, name)
    setattr(clew.Tensor, name, replacement)
    try:
        s.calls(2, f, x)
    finally:
        setattr(clew.Tensor, name, before)
    s.call(f, x)


@program
def a_method_of_tensors_that_is_patched(s):
    tensors_are_patched(s, lambda x: x.exp() * 2, "exp", clew.Tensor.sin)


@program
def an_operator_of_tensors_that_is_patched(s):
    tensors_are_patched(s, lambda x: x * 2, "__mul__", lambda self, other: self)


@program
def an_attribute_that_all_tensors_get(s):
    f, x = s.compile(lambda x: x * getattr(x, "of_all_tensors", 3)), x3()
    s.calls(2, f, x)
    clew.Tensor.of_all_tensors = 5
    try:
        s.calls(2, f, x)
    finally:
        del clew.Tensor.of_all_tensors
    s.call(f, x)
