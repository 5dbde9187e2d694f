"""Values of tensors that choose the way or become numbers."""

import math

import clew

from .harness import program
from .values import x3


@program
def a_branch_on_item(s):
    f = s.compile(lambda x: x * 2 if x.sum().item() > 5 else x * 3)
    s.calls(2, f, x3())
    s.call(f, -x3())
    s.call(f, x3() * math.nan)
    s.call(f, x3() * math.inf)


@program
def a_branch_on_a_bool(s):
    f = s.compile(lambda x: x * 2 if x[0] > 0 else x * 3)
    for first in (1.0, 2.0, -1.0, 5.0, math.nan):
        s.call(f, clew.tensor([first, 1.0]))


@program
def items_that_are_compared(s):
    f = s.compile(lambda x, y: x + 1 if x.max().item() < y.max().item() else y - 1)
    s.calls(2, f, x3(), x3() * 2)
    s.call(f, x3() * 4, x3() * 2)
    s.call(f, x3(), x3())


@program
def an_item_against_a_global_number(s):
    limit = [2.0]
    f = s.compile(lambda x: x * 2 if x[0].item() > limit[0] else x * 3)
    s.calls(2, f, x3() * 3)
    limit[0] = 4.0
    s.call(f, x3() * 3)
    s.call(f, x3() * 5)


@program
def the_best_so_far(s):
    best = s.watch({"loss": math.inf, "steps": 0})

    @s.compile
    def f(x):
        loss = (x * x).sum()
        if loss.item() < best["loss"]:
            best["loss"] = loss.item()
            best["at"] = x
        return loss

    for factor in (3.0, 2.0, 2.5, 1.0, 1.0, 0.5):
        s.call(f, x3() * factor)


@program
def an_item_after_arithmetic(s):
    f = s.compile(lambda x: (x * 2, 1 - x.sum().item(), round(x.sum().item(), 1), int(x.sum().item())))
    for factor in (1.0, 2.0, 2.0, 3.5):
        s.call(f, x3() * factor)


@program
def an_item_that_is_returned(s):
    f = s.compile(lambda x: {"loss": x.sum().item(), "twice": (x * 2).sum().item(), "x": x})
    for factor in (1.0, 2.0, -0.0, math.nan):
        s.call(f, x3() * factor)


@program
def an_item_of_an_integer(s):
    f = s.compile(lambda x: (x.sum().item(), x * 2))
    for factor in (1, 2, 2, 3):
        s.call(f, clew.tensor([1, 2]) * factor)


@program
def an_item_of_a_bool_and_of_float64(s):
    f = s.compile(lambda x: ((x > 1).any().item(), x.double().sum().item() if x.numel() else None, float(x[0])))
    for factor in (1.0, 0.1, 3.0):
        s.call(f, x3() * factor)


@program
def an_item_as_a_scalar(s):
    f = s.compile(lambda x: x * x.sum().item() + float(x.mean()))
    for factor in (1.0, 2.0, 3.0, 0.0):
        s.call(f, x3() * factor)


@program
def an_item_that_is_zero(s):
    f = s.compile(lambda x: x * 2 if x[0].item() else x * 3)
    for first in (1.0, 2.0, 0.0, -0.0, math.nan):
        s.call(f, clew.tensor([first, 1.0]))


@program
def an_item_in_a_text(s):
    f = s.compile(lambda x: (x * 2, f"loss {x.sum().item():.2f}", str(x.sum().item())))
    for factor in (1.0, 2.0, 3.0):
        s.call(f, x3() * factor)


@program
def an_item_handed_to_a_helper(s):
    def helper(x, number):
        return x * 2 if number == number and number > 4 else x * number

    f = s.compile(lambda x: helper(x, x.sum().item()))
    for factor in (1.0, 1.0, 0.1, 0.2, math.nan):
        s.call(f, x3() * factor)


@program
def an_item_as_a_key(s):
    table = {1.0: 10.0, 2.0: 20.0}
    f = s.compile(lambda x: x * table.get(x[0].item(), 5.0))
    for first in (1.0, 1.0, 2.0, 3.0):
        s.call(f, clew.tensor([first, 1.0]))


@program
def an_item_in_min_and_max(s):
    f = s.compile(lambda x: x / max(x.sum().item(), 5.0) + min(1.0, x[0].item()))
    for factor in (1.0, 1.0, 0.1, 2.0):
        s.call(f, x3() * factor)


@program
def an_item_in_math(s):
    f = s.compile(lambda x: x / math.sqrt(x.sum().item()))
    for factor in (1.0, 1.0, 4.0):
        s.call(f, x3() * factor)


@program
def clipping_by_a_norm(s):
    @s.compile
    def f(x):
        norm = x.norm()
        return x / norm if norm > 3 else x

    for factor in (1.0, 2.0, 0.1, 3.0):
        s.call(f, x3() * factor)


@program
def a_loop_until_it_is_small(s):
    @s.compile
    def f(x):
        turns = 0
        while (x * x).sum() > 1:
            x, turns = x / 2, turns + 1
        return x, turns

    for factor in (1.0, 1.1, 10.0, 0.01):
        s.call(f, x3() * factor)


@program
def a_loop_as_long_as_a_tensor_says(s):
    @s.compile
    def f(x, n):
        for _ in range(int(n)):
            x = x * 2
        return x

    for n in (1, 1, 3, 0):
        s.call(f, x3(), clew.tensor(n))


@program
def an_index_from_a_tensor(s):
    f = s.compile(lambda x, n: x[n.item()] * x[int(n) :].sum())
    for n in (0, 0, 1, 2, -1):
        s.call(f, x3(), clew.tensor(n))


@program
def a_list_of_a_tensor(s):
    f = s.compile(lambda x: (x * 2, x.tolist(), sum(x.tolist())))
    for factor in (1.0, 1.0, 2.0):
        s.call(f, x3() * factor)


@program
def walking_over_a_tensor(s):
    @s.compile
    def f(x):
        total = 0.0
        for one in x:
            total = total + one if one > 1 else total - one
        return total

    for factor in (1.0, 1.5, 0.1, -1.0):
        s.call(f, x3() * factor)


@program
def a_shape_from_values(s):
    f = s.compile(lambda x: (x[x > 1] * 2, len(x.nonzero())))
    for x in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]):
        s.call(f, clew.tensor(x))


@program
def equal_and_allclose(s):
    f = s.compile(lambda x, y: x * 2 if clew.equal(x, y) else x * 3 if clew.allclose(x, y, atol=0.5) else x)
    s.calls(2, f, x3(), x3())
    s.call(f, x3(), x3() + 0.1)
    s.call(f, x3(), x3() + 10)


@program
def a_member_of_a_tensor(s):
    f = s.compile(lambda x: x * 2 if 2.0 in x else x * 3)
    s.calls(2, f, x3())
    s.call(f, x3() + 10)
