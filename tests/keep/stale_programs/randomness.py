"""Generators of random numbers, ours and others'."""

import random

import numpy

import clew

from .harness import program
from .values import x3


@program
def random_of_python(s):
    random.seed(3)
    f = s.compile(lambda x: x * random.random())
    s.calls(4, f, x3())
    s.note(random.random())


@program
def a_generator_of_python(s):
    generator = random.Random(3)
    f = s.compile(lambda x: x * generator.choice([1.0, 2.0, 3.0]) if generator.randint(0, 3) else x)
    s.calls(6, f, x3())
    s.note(generator.random())


@program
def random_of_numpy(s):
    numpy.random.seed(3)
    f = s.compile(lambda x: x * float(numpy.random.rand()))
    s.calls(4, f, x3())
    s.note(float(numpy.random.rand()))


@program
def a_generator_of_numpy(s):
    generator = numpy.random.default_rng(3)
    f = s.compile(lambda x: x[clew.from_numpy(generator.permutation(3))])
    s.calls(4, f, x3())


@program
def seeds_between_calls(s):
    f = s.compile(lambda x: x + clew.rand(3) + clew.randn(3) * clew.randint(0, 5, (3,)))
    s.calls(3, f, x3())
    clew.manual_seed(7)
    s.calls(2, f, x3())
    state = clew.random.get_rng_state()
    s.call(f, x3())
    clew.random.set_rng_state(state)
    s.call(f, x3())


@program
def a_generator_of_ones_own(s):
    generator = s.watch(clew.Generator().manual_seed(5))
    f = s.compile(lambda x: x + clew.randn(3, generator=generator))
    s.calls(3, f, x3())
    generator.manual_seed(9)
    s.calls(2, f, x3())


@program
def a_seed_inside_the_call(s):
    seed = [4]

    @s.compile
    def f(x):
        clew.manual_seed(seed[0])
        return x + clew.rand(3)

    s.calls(3, f, x3())
    seed[0] = 5
    s.calls(2, f, x3())
    clew.rand(2)
    s.call(f, x3())


@program
def the_generators_state_inside_the_call(s):
    f = s.compile(lambda x: x * clew.random.get_rng_state().sum().item() + clew.initial_seed())
    s.calls(2, f, x3())
    clew.manual_seed(9)
    s.call(f, x3())
