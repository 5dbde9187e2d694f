"""Small tensors, objects and classes that the programs compute with."""

import clew


def x3():
    return clew.tensor([1.0, 2.0, 3.0])


def row3():
    return clew.tensor([[1.0, 2.0, 3.0]])


def w3():
    return clew.tensor([0.5, -1.0, 2.0], requires_grad=True)


class Plain:
    """With the attributes that it is given."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Number:
    """A number of a user's class."""

    def __init__(self, value=2.0):
        self.value = value


def scaler(factor=2.0):
    """A new class, which a program may change."""

    class Scaler:
        def __init__(self):
            self.factor = factor

        def scale(self, x):
            return x * self.factor

    return Scaler


def call_with_other_values(s, function):
    f = s.compile(function)
    for factor in (1.0, 2.0, 3.0, 4.0):
        s.call(f, x3() * factor)
