"""Row 6.2: what depends on constants alone is computed once, unless somebody reads it before it is written again."""

import pytest

import clew

pytestmark = pytest.mark.records_calls


def same_as_eager(function, *given, calls=5):
    compiled = clew.compile(function)
    expected = [one.tolist() for one in function(*given)]
    for _ in range(calls):
        assert [one.tolist() for one in compiled(*given)] == expected
    assert compiled.hits == calls - 1, compiled.why()


def test_a_gradient_of_ones_that_is_added_to_after_it_was_read():
    """The two casts of the first gradient share it with the sum that the third branch adds to."""

    def function(x, y):
        x, y = (one.detach().clone().requires_grad_() for one in (x, y))
        z = x.double()
        negative = -z
        (y.double().sum() + z.sum() + negative.sum()).backward()
        return [x.grad.detach(), y.grad.detach()]

    for y in (clew.ones(3), clew.ones(1), clew.tensor(1.0)):
        same_as_eager(function, clew.tensor(2.0), y)


def test_constants_written_between_two_reads():
    def function(x):
        c = clew.full((3,), 2.0)
        first = x * c
        c.add_(1.0)
        second = x * c
        c.mul_(c)
        return [first, second, x * c]

    same_as_eager(function, clew.arange(3.0))


def test_constants_written_where_a_step_runs_as_it_is_between():
    def function(x):
        c = clew.zeros(4)
        kept = x[c.bool() | (x > 1)]  # as many as there are
        c[1:3] = 1.0
        return [kept, x * c]

    same_as_eager(function, clew.arange(4.0))


def test_constants_that_are_written_several_times_first():
    def function(x):
        c = clew.zeros(4)
        c[:2] = 3.0
        c[1:] += 1.0
        return [x * c, x + c]

    same_as_eager(function, clew.arange(4.0))


def test_a_kept_block_gives_the_same_each_time():
    x, y = clew.tensor(2.0, requires_grad=True), clew.ones(3, requires_grad=True)
    with clew.keep_graph() as program:
        z = x.double()
        negative = -z
        gradients = clew.autograd.grad(y.double().sum() + z.sum() + negative.sum(), [x, y])
    for _ in range(4):
        assert [one.tolist() for one in gradients] == [0.0, [1.0, 1.0, 1.0]]
        program.run()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.as_strided((2,), (1,), 1) * 2,
        lambda x: x[1:].as_strided((2,), (1,), 3) + x[:2],
        lambda x: x * x.storage_offset(),
        lambda x: x[2:] * x[2:].storage_offset(),
        lambda x: x.as_strided((2,), (2,)) * 2,
    ],
    ids=["as_strided", "of a view", "storage_offset", "storage_offset of a view", "without an offset"],
)
def test_where_in_its_storage_an_argument_begins(function):
    compiled = clew.compile(function)
    whole = clew.arange(20.0)
    for begin in (0, 1, 2, 0, 1, 2, 0, 0):
        part = whole[begin : begin + 6]
        assert compiled(part).tolist() == function(part).tolist()
    assert compiled.hits
