"""6.12: random programs with views, writes in place, draws and second derivatives: under a budget as without one."""

import random

import pytest

import clew
from clew.nn import functional as F

pytestmark = pytest.mark.beyond

SIZE = 200  # smaller values are kept in one block with their head, and are not dropped
MOST = 5  # values that the program holds at a time


def write_part(a, b, factor, part):
    a[part] = b[part] * factor


def write_data(a, b, factor, part):
    a.data.mul_(factor)  # unseen by a's version


def copy_without_history(a, b, factor, part):
    with clew.no_grad():
        b.copy_(a)


def product_of_a_view(a, b, factor, part):
    view = a.view(10, SIZE // 10)
    return (view @ view.T).sum(0).repeat(SIZE // 10) * 0.1


OPERATIONS = [
    lambda a, b, factor, part: a.sin(),
    lambda a, b, factor, part: a * b,
    lambda a, b, factor, part: a.tanh() + factor,
    lambda a, b, factor, part: (a / (b * b + 1)).exp(),
    lambda a, b, factor, part: F.dropout(a, 0.3),
    lambda a, b, factor, part: a.detach() * b,
    lambda a, b, factor, part: a.cumsum(0) * 0.01,
    lambda a, b, factor, part: clew.where(a > 0, a, b),
    product_of_a_view,
    lambda a, b, factor, part: a.mul_(factor),
    lambda a, b, factor, part: a.add_(b),
    lambda a, b, factor, part: a[part].sin_(),
    write_part,
    write_data,
    copy_without_history,
]


def draw(seed):
    draws = random.Random(seed)
    steps = []
    for _ in range(draws.randint(8, 40)):
        begin = draws.randint(0, SIZE // 2)
        part = slice(begin, begin + draws.randint(5, SIZE // 2))
        choices = [draws.random() for _ in range(3)]
        steps.append((draws.choice(OPERATIONS), choices, draws.uniform(0.5, 1.5), part))
    return steps, [draws.random() for _ in range(3)], draws.random() < 0.3


def bits(tensor):
    return None if tensor is None else tensor.detach().numpy().tobytes()


def chosen(values, choice):
    return values[int(choice * len(values))]


def gradients(y, leaves, second):
    options = {"retain_graph": True, "allow_unused": True}
    first = clew.autograd.grad(y.sum(), leaves, create_graph=second, **options)
    found = [bits(one) for one in first]
    squares = [one.square().sum() for one in first if one is not None and one.requires_grad]
    if second and squares:
        found += [bits(one) for one in clew.autograd.grad(sum(squares), leaves, **options)]
    return found


def run(program, limit):
    """What the program computes, errors included, and what the budget says."""
    steps, roots, second = program
    clew.manual_seed(3)
    leaves = [clew.linspace(-1, 1, SIZE).requires_grad_(), clew.rand(SIZE).add(0.5).requires_grad_()]
    values, seen = [leaves[0] * 1, leaves[1] * 2, clew.rand(SIZE)], []
    with clew.memory.budget(limit) as budget:
        for operation, choices, factor, part in steps:
            try:
                result = operation(chosen(values, choices[0]), chosen(values, choices[1]), factor, part)
            except RuntimeError as error:
                seen.append(error_text(error))
                continue
            if result is not None and result.shape == (SIZE,):
                values.append(result)
            if len(values) > MOST:
                values.pop(int(choices[2] * len(values)))
        for choice in roots:
            y = chosen(values, choice)
            try:
                seen += gradients(y, leaves, second) if y.requires_grad else []
            except RuntimeError as error:
                seen.append(error_text(error))
        seen += [bits(one) for one in values]
    return seen, budget.report()


def error_text(error):
    if isinstance(error, clew.BudgetError):
        raise error
    return type(error).__name__, str(error)[:60]


def attempt(program, limit):
    try:
        return run(program, limit), None
    except clew.BudgetError as error:
        return None, error


def run_within(program, limit):
    """Under the limit, or the least that there is; and which."""
    while (tried := attempt(program, limit))[0] is None:
        assert tried[1].least > limit
        limit = tried[1].least
    return *tried[0], limit


@pytest.mark.unsanitized("two parts of the random programs are enough", cases=r"\[[2-7]\]")
@pytest.mark.parametrize("part", range(4))
def test_random_programs_under_a_budget(part):
    recomputed = 0
    for seed in range(part * 50, part * 50 + 50):
        program = draw(seed)
        expected, free = run(program, 10**9)
        for share in (0.7, 0.4, 0.15):
            seen, report, limit = run_within(program, max(1, int(free.peak * share)))
            assert seen == expected, seed
            assert report.peak <= limit
            recomputed += report.recomputed
    assert recomputed > 300


def train(program, limit):
    """The forward, and one backward."""
    steps, roots, _ = program
    clew.manual_seed(3)
    leaves = [clew.linspace(-1, 1, SIZE).requires_grad_(), clew.rand(SIZE).add(0.5).requires_grad_()]
    values = [leaves[0] * 1, leaves[1] * 2, clew.rand(SIZE)]
    with clew.memory.budget(limit) as budget:
        for operation, choices, factor, part in steps:
            try:
                result = operation(chosen(values, choices[0]), chosen(values, choices[1]), factor, part)
            except RuntimeError:
                continue
            if result is not None and result.shape == (SIZE,):
                values.append(result)
            if len(values) > MOST:
                values.pop(int(choices[2] * len(values)))
        roots = [chosen(values, choice) for choice in roots]
        y = sum(one.sum() for one in roots if one.requires_grad)
        found = []
        if isinstance(y, clew.Tensor):
            try:
                found = [bits(one) for one in clew.autograd.grad(y, leaves, allow_unused=True)]
            except clew.BudgetError:
                raise
            except RuntimeError as error:  # of eager's
                found = [str(error)[:40]]
    return found, budget.report()


@pytest.mark.parametrize("part", range(4))
def test_the_least_is_enough_and_one_byte_less_is_not(part):
    impossible = 0
    for seed in range(part * 50, part * 50 + 50):
        program = draw(seed)
        expected, free = train(program, 10**9)
        if free.peak == 0:
            continue
        with pytest.raises(clew.BudgetError) as failure:
            train(program, 1)
        least = failure.value.least
        assert least <= free.peak
        found, report = train(program, least)
        assert found == expected, seed
        assert report.peak <= least
        with pytest.raises(clew.BudgetError) as failure:
            train(program, least - 1)
        assert failure.value.least == least, seed
        impossible += least < free.peak
    assert impossible > 10
