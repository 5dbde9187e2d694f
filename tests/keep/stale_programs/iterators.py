"""Iterators and generators that are older than the call."""

import itertools

from .harness import program
from .values import x3


@program
def a_count_of_itertools(s):
    count = itertools.count()
    f = s.compile(lambda x: x * next(count))
    s.calls(4, f, x3())


@program
def a_cycle_of_itertools(s):
    factors = itertools.cycle([1.0, 2.0, 3.0])
    f = s.compile(lambda x: x * next(factors))
    s.calls(5, f, x3())


@program
def an_iterator_of_a_list(s):
    batches = iter([1.0, 2.0, 3.0])

    @s.compile
    def f(x):
        for factor in batches:
            return x * factor
        return x - 1

    s.calls(5, f, x3())


@program
def a_generator_from_before(s):
    def batches():
        factor = 1.0
        while True:
            yield factor
            factor *= 2

    generator = batches()
    f = s.compile(lambda x: x * next(generator))
    s.calls(4, f, x3())


@program
def a_zip_from_before(s):
    pairs = zip([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], strict=True)

    @s.compile
    def f(x):
        (a, b), *_ = itertools.islice(pairs, 1)
        return x * a + b

    s.calls(5, f, x3())


@program
def an_iterator_as_argument(s):
    factors = iter([1.0, 2.0, 3.0, 4.0])
    f = s.compile(lambda x, factors: x * next(factors, 0.0))
    s.calls(6, f, x3(), factors)


@program
def an_iterator_of_a_users_class(s):
    class Batches:
        def __init__(self):
            self.at = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.at += 1
            if self.at > 2:
                self.at = 0
                raise StopIteration
            return self.at

    batches = s.watch(Batches())

    @s.compile
    def f(x):
        for factor in batches:
            return x * factor
        return x - 100

    s.calls(5, f, x3())


@program
def a_generator_that_is_sent_to(s):
    def machine():
        total = 0.0
        while True:
            total += yield total

    running = machine()
    next(running)
    f = s.compile(lambda x: x * running.send(1.0))
    s.calls(4, f, x3())


@program
def pairs_from_before(s):
    pairs, sums = itertools.pairwise(range(9)), itertools.accumulate(range(9))
    f = s.compile(lambda x: x * sum(next(pairs)) + next(sums))
    s.calls(4, f, x3())
