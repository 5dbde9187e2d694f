"""Arrays and scalars of NumPy."""

import numpy

import clew

from .harness import program
from .values import x3


@program
def an_array_that_it_captures(s):
    array = numpy.array([1.0, 2.0, 3.0], dtype=numpy.float32)
    f = s.compile(lambda x: x + clew.from_numpy(array))
    s.calls(2, f, x3())
    array[1] = 20.0
    s.call(f, x3())


@program
def an_item_of_an_array(s):
    array = numpy.array([1.0, 2.0, 3.0])
    f = s.compile(lambda x: x * array[1] + array.sum() + len(array))
    s.calls(2, f, x3())
    array[1] = 20.0
    s.call(f, x3())


@program
def a_tensor_of_an_array(s):
    array = numpy.array([1.0, 2.0, 3.0])
    f = s.compile(lambda x: x + clew.tensor(array) * clew.as_tensor(array))
    s.calls(2, f, x3())
    array[1] = 20.0
    s.call(f, x3())


@program
def an_array_as_argument(s):
    array = numpy.array([1.0, 2.0, 3.0], dtype=numpy.float32)
    f = s.compile(lambda x, array: x + clew.from_numpy(array))
    s.calls(2, f, x3(), array)
    array[1] = 20.0
    s.call(f, x3(), array)


@program
def a_scalar_of_numpy_as_argument(s):
    f = s.compile(lambda x, factor: x * factor)
    for factor in (2.0, 2.0, 3.0):
        s.call(f, x3(), numpy.float64(factor))
        s.call(f, x3(), numpy.float32(factor))
    s.call(f, x3(), 2.0)


@program
def an_array_made_from_a_tensor(s):
    f = s.compile(lambda x: float(numpy.sin(x.numpy()).sum()) * x)
    for factor in (1.0, 1.0, 2.0):
        s.call(f, x3() * factor)


@program
def memory_shared_with_an_array(s):
    array = numpy.array([1.0, 2.0, 3.0], dtype=numpy.float32)
    weight = clew.from_numpy(array)

    @s.compile
    def f(x):
        weight.add_(x)
        return weight * 2

    for _ in range(3):
        s.call(f, x3())
        s.note(array.tolist())
    array[:] = 0.0
    s.call(f, x3())
    s.note(array.tolist())
