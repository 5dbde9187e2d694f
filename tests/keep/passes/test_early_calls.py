"""Calls of a replay that run earlier than their steps did: checks of indices, steps of optimizers over large weights.

Expected is what eager execution gives, to the bit.
"""

import ctypes

import numpy
import pytest

import clew
from clew import nn

F = nn.functional
WIDTH, ROWS, WORDS = 128, 64, 96  # a weight has more than 8192 elements

pytestmark = [pytest.mark.beyond, pytest.mark.records_calls]


def optimizer_of(kind, parameters):
    return {
        "adam": lambda: clew.optim.AdamW(parameters, lr=1e-2),
        "momentum": lambda: clew.optim.SGD(parameters, lr=1e-2, momentum=0.9),
    }[kind]()


def embedded(parts, step):
    """The check of the embedding's indices comes last in the backward."""
    hidden = F.embedding(clew.arange(ROWS) % (WORDS - step), parts["words"]) @ parts["first"]
    return F.cross_entropy(hidden.tanh() @ parts["second"], clew.arange(ROWS) % WIDTH)


def used_twice(parts, step):
    """The first weight is read again after its gradient has got its first part."""
    x = parts["words"]
    return ((x @ parts["first"]).tanh() @ parts["first"] @ parts["second"]).square().mean()


def clipped(parts, step):
    loss = embedded(parts, step)
    loss.backward()
    nn.utils.clip_grad_norm_([*parts.values()], 0.5)
    return loss


def read_afterwards(parts, step):
    return used_twice(parts, step)


PROGRAMS = [embedded, used_twice, clipped, read_afterwards]


def run(program, kind, compiled):
    clew.manual_seed(0)
    shapes = {"words": (WORDS, WIDTH), "first": (WIDTH, WIDTH), "second": (WIDTH, WIDTH)}
    parts = {name: nn.Parameter(clew.randn(shape) / 10) for name, shape in shapes.items()}
    optimizer = optimizer_of(kind, list(parts.values()))

    def step(number):
        optimizer.zero_grad()
        loss = program(parts, number)
        if program is not clipped:
            loss.backward()
        optimizer.step()
        if program is read_afterwards:
            loss = loss + (parts["words"] @ parts["second"]).sum() + parts["first"].grad.sum()
        return loss.detach()

    function = clew.compile(step) if compiled else step
    found = [function(0).numpy().copy() for _ in range(6)]
    if compiled:
        assert function.hits >= 3, function.why()
    state = [moment for one in optimizer.state.values() for moment in one.values() if isinstance(moment, clew.Tensor)]
    tensors = [*parts.values(), *(one.grad for one in parts.values()), *state]
    return found + [one.detach().numpy().copy() for one in tensors]


@pytest.mark.parametrize("kind", ["adam", "momentum"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_bits_are_eagers(program, kind):
    for found, expected in zip(run(program, kind, True), run(program, kind, False), strict=True):
        numpy.testing.assert_array_equal(found, expected)


def overlapping(compiled, before):
    """After some calls the input lies in the memory of a weight, which is stepped as early as nobody needs it."""
    clew.manual_seed(0)
    first, second = (nn.Parameter(clew.randn(WIDTH, WIDTH) / 10) for _ in range(2))
    optimizer = clew.optim.Adam([first, second], lr=1e-2)

    def step(x):
        optimizer.zero_grad()
        (x @ first @ second).square().mean().backward()
        optimizer.step()
        return x.sum()

    function = clew.compile(step) if compiled else step
    memory = (ctypes.c_float * WIDTH**2).from_address(second.data_ptr())  # NumPy does not know whose it is
    own, shared = clew.randn(WIDTH, WIDTH), clew.from_numpy(numpy.ctypeslib.as_array(memory).reshape(WIDTH, WIDTH))
    found = [function(x).numpy().copy() for x in [own] * before + [shared] * 3 + [own]]
    return [*found, *(one.detach().numpy().copy() for one in (first, second, first.grad, second.grad))]


@pytest.mark.filterwarnings("ignore:compile.*overlaps another input:clew.KeepWarning")
@pytest.mark.parametrize("before", [0, 2, 4])
def test_an_input_that_overlaps_a_parameter(before):
    for found, expected in zip(overlapping(True, before), overlapping(False, before), strict=True):
        numpy.testing.assert_array_equal(found, expected)


def test_an_index_out_of_range_changes_nothing():
    table = nn.Parameter(clew.randn(WORDS, WIDTH))
    optimizer = clew.optim.Adam([table], lr=0.1)

    @clew.compile
    def step(rows):
        optimizer.zero_grad()
        F.embedding(rows, table).square().sum().backward()
        optimizer.step()

    for _ in range(5):
        step(clew.arange(ROWS))
    assert step.hits >= 2, step.why()
    before, slope = table.detach().clone(), table.grad.clone()
    with pytest.raises(IndexError, match=r"(?s)embedding.*96"):
        step(clew.arange(ROWS) + WORDS - ROWS + 1)
    numpy.testing.assert_array_equal(table.detach().numpy(), before.numpy())
    if table.grad is not None:  # dropped by eager execution, which raises where the replay would
        numpy.testing.assert_array_equal(table.grad.numpy(), slope.numpy())
