"""Row 6.2: in the first replay a step of a loop may be what an earlier turn did, on other memory.

See Note [Repeated steps] in core/program/passes/repeated_steps.cpp. All calls of a helper below stand on one line.
"""

import random

import pytest

import clew

pytestmark = pytest.mark.records_calls


def bits(results):
    return [(one.shape, one.dtype, one.stride(), one.detach().contiguous().numpy().tobytes()) for one in results]


def same_as_eager(function, *makers, calls=4):
    compiled = clew.compile(function)
    for seed in range(calls):
        clew.manual_seed(seed)
        given = [make() for make in makers]
        expected = bits(function(*given))
        assert bits(compiled(*given)) == expected
    assert compiled.hits == calls - 1, compiled.why()


def product(a, b):
    return a * b


def difference(a, b):
    return a - b


def larger(a, b):
    return clew.maximum(a, b)


def sine(a, b):
    return (a * 0.5 + b).sin()


def chosen(a, b):
    return clew.where(a > b, a, b)


def added(a, b):
    return clew.add(a, b, alpha=2)


def power(a, b):
    return a.abs() ** b


def powered(a, b):
    return b**a


def vector():
    return clew.randn(4)


def matrix():
    return clew.randn(4, 4)


@pytest.mark.parametrize("helper", [product, difference, larger, sine, chosen, added])
def test_operands_of_any_kind_in_turn(helper):
    def function(x, y, m):
        wide, whole = x.double(), (10 * y).long()
        pairs = [
            (x, y), (y, x), (x, x), (x[:2], y[2:]), (x[1:3], x[:2]), (x, m), (m, x), (m, m.t()), (m.t(), m),
            (m.t(), m.t()), (m[0], m[1]), (m[:, 0], m[:, 1]), (m[:, 0], m[1]), (x[0], y[0]), (x[0], x[0]),
            (x, y[0]), (x[None], x[:, None]), (wide, wide), (wide, x), (x, wide), (whole, whole), (whole, x),
            (x.expand(3, 4), y.expand(3, 4)), (y, x), (x, y), (x.detach(), x), (x.view(2, 2), y.view(2, 2)),
            (m[1:, 1:], m[:3, :3]), (x[::2], y[::2]), (x.flip(0), x), (m, y),
        ]  # fmt: skip
        return [helper(a, b) for a, b in pairs]

    same_as_eager(function, vector, vector, matrix)


@pytest.mark.parametrize("helper", [product, difference, sine, power, powered, added])
def test_numbers_that_differ_from_turn_to_turn(helper):
    numbers = [2.0, 2.0, 3.0, 0.5, 2, 2.0, -1.0, 1.0, 1, 0.0, 2.0, float("inf"), 3.0, 2]

    def function(x):
        results = []
        for number in numbers:
            x = helper(x, number)
            results.append(x)
            x = x.clamp(-2.0, 2.0)
        return results

    same_as_eager(function, vector)


def test_results_that_leave_the_call_and_that_graphs_save():
    def function(x, y):
        x, y = (one.detach().requires_grad_() for one in (x, y))
        kept, z = [], x
        for i in range(40):
            z = product(z, y)
            z = sine(z, x)
            if i % 7 == 0:
                kept.append(z)
        gradients = clew.autograd.grad(sum(one.sum() for one in kept), [x, y])
        return [*(one.detach() for one in kept), *gradients]

    same_as_eager(function, vector, vector)


def test_results_in_place_of_operands():
    def step(a, b):
        a.mul_(b).add_(1.0)

    def function(x, y):
        x = x.clone()
        parts = [x, x[:2], x[2:], x]
        for part in parts * 4:
            step(part, y[: len(part)])
            y = product(y, 0.9)
        return [x, y]

    same_as_eager(function, vector, vector)


def test_turns_whose_operands_become_longer():
    def function(x):
        results = [x]
        for _ in range(12):
            x = product(x, x)
            x = clew.cat([x, difference(x[:1], x[-1:])])
            results.append(x)
        return results

    same_as_eager(function, vector)


def test_operands_longer_than_a_call_takes_at_once():
    def function(x):
        total = x
        for _ in range(5):
            total = sine(product(total, x), x)
        return [total]

    same_as_eager(function, lambda: clew.randn(100_000))


@pytest.mark.parametrize("seed", range(30))
def test_drawn_turns(seed):
    draw = random.Random(seed)
    helpers = [product, difference, larger, sine, chosen, added]
    turns = [(draw.choice(helpers), draw.random(), draw.random(), draw.randrange(8)) for _ in range(60)]

    def function(x, y, m):
        made = [x, y, m, m[0], x[0]]
        for helper, one, other, look in turns:
            a, b = made[int(one * len(made))], made[int(other * len(made))]
            if look == 0 and a.ndim == 2:
                a = a.t()
            elif look == 1 and a.ndim:
                a = a[..., :1]
            elif look == 2:
                b = round(other, 1)
            elif look == 3:
                b = a
            made.append(helper(a, b) if isinstance(b, clew.Tensor) or helper not in (larger, chosen) else product(a, b))
            if look == 4 and made[-1].ndim:
                made[-1].mul_(0.5)
        return made[5:]

    same_as_eager(function, vector, vector, matrix)
