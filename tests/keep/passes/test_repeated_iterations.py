"""Row 6.2: turns of a loop that repeat are one step of the program, and eager's to the bit.

See Note [Loops of programs] in core/program/loop.h. Calls of fewer than 500 steps stay as they are.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import clew
from clew import nn

sys.path.append(str(Path(__file__).resolve().parents[2] / "fuzz"))

import loops

pytestmark = pytest.mark.records_calls


def bits(results):
    return [(one.shape, one.dtype, one.stride(), one.detach().contiguous().numpy().tobytes()) for one in results]


def folded(compiled):
    """How many loops were folded in the first variant, and how many steps there are without them."""
    found = re.search(r"variant: ([\d,]+) steps?(?: \(([\d,]+) of them iterations of (\d+) loop)?", compiled.why())
    steps, turned, count = (int(one.replace(",", "")) if one else 0 for one in found.groups())
    return count, steps - turned


def check(function, *makers, calls=5):
    """Compiled and eager, on new data each time; the arguments afterwards, too."""
    compiled = clew.compile(function)
    for seed in range(calls):
        clew.manual_seed(seed)
        mine = [make() for make in makers]
        theirs = [one.clone() for one in mine]
        expected = bits(function(*theirs)) + bits(theirs)
        assert bits(compiled(*mine)) + bits(mine) == expected, seed
    assert compiled.hits == calls - 1, compiled.why()
    return compiled


def matrix():
    return clew.randn(3, 3)


def slope(state, rate):
    position, speed = state[0:1], state[1:2]
    return clew.cat((speed, rate * (1.0 - position * position) * speed - position))


def integrated(turns):
    def function(start, rate):
        start, rate = (one.detach().requires_grad_() for one in (start, rate))
        state = start
        for _ in range(turns):
            first = slope(state, rate)
            state = state + 0.05 * slope(state + 0.025 * first, rate)
        loss = (state * state).sum()
        return [state.detach(), *clew.autograd.grad(loss, [start, rate])]

    return function


def state_and_rate():
    return [lambda: clew.randn(2), lambda: clew.rand(1)]


def test_an_integration_and_its_gradient():
    compiled = check(integrated(60), *state_and_rate())
    assert folded(compiled)[0] == 2  # forward and backward


def test_what_is_kept_does_not_grow_with_the_turns():
    kept, left = [], []
    for turns in (100, 400, 1600):
        start, rate = clew.randn(2), clew.rand(1)
        compiled = clew.compile(integrated(turns))
        for _ in range(3):
            compiled(start, rate)
        loops_found, rest = folded(compiled)
        assert loops_found == 2
        kept.append(compiled.bytes)
        left.append(rest)
    assert max(left) - min(left) < 150  # what is left beside whole turns of 64 steps and more
    assert max(kept) < 1.5 * min(kept)


def test_short_loops_stay_steps():
    compiled = check(integrated(6), *state_and_rate())
    assert folded(compiled)[0] == 0


def recurrent(turn):
    """The loop goes `turn(state, at)` 200 times."""

    def function(x, w):
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        state = x
        for at in range(200):
            state = turn(state, w, at)
        return [
            state.detach(),
            *clew.autograd.grad(state.square().sum(), [x, w], allow_unused=True, materialize_grads=True),
        ]

    return function


@pytest.mark.parametrize(
    "turn",
    [
        lambda s, w, at: (s @ w * 0.3).tanh(),
        lambda s, w, at: s - 0.1 * s.t() @ w.sin(),
        lambda s, w, at: clew.where(s > 0, s * w.sigmoid(), 0.1 * s),
        lambda s, w, at: (s + w).softmax(-1).cumsum(0).clamp(-1, 1),
        lambda s, w, at: clew.cat([s[1:], s[:1] * w[:1]]).sin(),
        lambda s, w, at: s.double().mul(0.9).float() + w.mean() * 0.1,
        lambda s, w, at: nn.functional.layer_norm(s, (3,)) * w,
        lambda s, w, at: (s * clew.tensor([0.5, -1.0, 2.0]) + w).tanh(),
        lambda s, w, at: s.sort(1)[0] * 0.9 + w * 0.1,
    ],
)
def test_turns(turn):
    compiled = check(recurrent(turn), matrix, matrix)
    assert folded(compiled)[0] >= 1


def test_state_of_two_turns_before():
    def function(x):
        oldest, old, state = x, x * 2.0, x * 0.5
        for _ in range(200):
            oldest, old, state = old, state, (state - 0.5 * old + 0.1 * oldest).sin()
        return [state, old, oldest]

    assert folded(check(function, matrix))[0] == 1


def test_writes_in_place():
    def function(x, y):
        total, state = clew.zeros(3, 3), x.clone()
        for _ in range(200):
            fresh = state * y
            fresh[0].mul_(0.5)
            state[1:].add_(fresh[:2], alpha=0.1)  # made before the loop
            total += fresh
            state = state.neg()
            state.clamp_(-1, 1)
        return [total, state]

    assert folded(check(function, matrix, matrix))[0] == 1


def test_memory_of_the_turn_before_is_written():
    def function(x, y):
        before, given = x.clone(), x.clone()
        for _ in range(200):
            now = before * y
            before.add_(now)
            given = before[0].sum() + now
            before = now
        return [before, given]

    assert folded(check(function, matrix, matrix))[0] == 1


def test_a_sequence_and_a_buffer():
    def function(sequence, y):
        state, buffer = y, clew.zeros(200, 3)
        for at in range(200):
            state = (state * 0.9 + sequence[at]).tanh()
            buffer[at].copy_(state * sequence[199 - at])
            state = state + 0.1 * buffer[at - 1 if at else 0]
        return [state, buffer]

    compiled = check(function, lambda: clew.randn(200, 3), lambda: clew.randn(3))
    assert folded(compiled)[0] == 1


def test_a_sequence_that_requires_gradients():
    def function(sequence, w):
        sequence, w = sequence.detach().requires_grad_(), w.detach().requires_grad_()
        state, outs = w, []
        for one in sequence.unbind(0):
            state = (state * w + one).tanh()
            outs.append(state)
        loss = (clew.stack(outs) * 0.1).square().sum()
        return [loss.detach(), *clew.autograd.grad(loss, [sequence, w])]

    compiled = check(function, lambda: clew.randn(200, 3), lambda: clew.randn(3))
    assert folded(compiled)[0] >= 1


def test_second_order():
    def function(x, w):
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        state = x
        for _ in range(80):
            state = (state * w).sin()
        (first,) = clew.autograd.grad(state.sum(), [w], create_graph=True)
        return clew.autograd.grad(first.square().sum(), [x, w])

    assert folded(check(function, matrix, matrix))[0] >= 2


def test_loops_of_which_one_follows_the_other():
    def function(x, y):
        state = x
        for _ in range(150):
            state = (state * y).sin()
        middle = state
        for _ in range(150):
            state = state.cos() - middle * 0.1
        return [state, middle * 2.0]

    assert folded(check(function, matrix, matrix))[0] == 2


@pytest.mark.parametrize("turn", [2, 80, 149])
def test_a_loop_that_reads_what_one_turn_of_another_made(turn):
    def function(x, y):
        state, made = x, []
        for _ in range(150):
            state = (state * y).tanh() + x
            made.append(state)
        kept, state = made[turn], y
        for _ in range(150):
            state = (state * kept).tanh() + y
        return [state]

    assert folded(check(function, matrix, matrix))[0] == 2


def test_an_encoder_and_a_decoder():
    def function(x, w):
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        state = x
        for _ in range(150):
            state = (state @ w).tanh()
        read = x
        for _ in range(150):
            read = (read @ state).tanh()
        return [read.detach(), *clew.autograd.grad(read.sum(), [x, w])]

    assert folded(check(function, matrix, matrix))[0] >= 3


@pytest.mark.parametrize("fails", [False, True])
def test_one_memory_in_several_places(fails):
    """Written by elements, from both ends, and read whole; with steps that run as they are, too."""

    def function(x, y):
        buffer, state = clew.zeros(160, 3, 3), x
        for at in range(160):
            state = (state * y).tanh()
            buffer[at].copy_(state)
            buffer[159 - at].add_(y)
            state = state + 0.01 * buffer.sum(0)
            state = state.sort(1)[0] if fails else state
        return [state, buffer]

    assert folded(check(function, matrix, matrix))[0] == 1


@pytest.mark.parametrize(
    "turn",
    [
        lambda x, at, w: clew.cat([x[at], x[199 - at]]) @ w,
        lambda x, at, w: clew.stack([x[3], x[at]]).sum(0),
        lambda x, at, w: nn.functional.linear(x[at], w[:3], x[0]),
        lambda x, at, w: nn.functional.layer_norm(x[at], (3,), x[0], x[1]),
    ],
)
def test_an_operation_on_two_places_of_one_tensor(turn):
    """They move differently, so this stays steps."""

    def function(x, w):
        state = x[0] * 1.0
        for at in range(200):
            state = (turn(x, at, w) + state).tanh()
        return [state]

    compiled = check(function, lambda: clew.randn(200, 3), lambda: clew.randn(6, 3))
    assert folded(compiled)[0] == 0


def test_an_operation_on_two_places_that_another_loop_made():
    def function(x, w):
        made, state = [], x
        for _ in range(150):
            state = (state * w).tanh() + x
            made.append(state)
        for at in range(150):
            state = (clew.cat([made[at], made[149 - at]]).sum(0) + clew.stack([made[10], made[at]]).sum(0)).tanh()
        return [state]

    check(function, matrix, matrix)


def test_a_loop_in_a_loop():
    def function(x, y):
        state = x
        for _ in range(12):
            for _ in range(30):
                state = (state * y).sin()
            state = state + x
        return [state]

    assert folded(check(function, matrix, matrix))[0] >= 1


def test_steps_of_an_optimizer_in_a_loop():
    """Many steps in one call: the learning rate is read anew by each replay, so these stay steps of the program."""
    weight = nn.Parameter(clew.ones(3))
    optimizer = clew.optim.SGD([weight], lr=0.1)

    def function(x):
        for _ in range(60):
            optimizer.zero_grad()
            ((weight * x).sum() - 1.0).square().backward()
            optimizer.step()
        return [weight.detach().clone()]

    compiled = clew.compile(function)
    for call in range(5):
        optimizer.param_groups[0]["lr"] = 0.01 * (call + 1)
        x, before = clew.rand(3), weight.detach().clone()
        mine = bits(compiled(x))
        with clew.no_grad():
            weight.copy_(before)
        assert mine == bits(function(x))


def test_a_turn_that_fails():
    """An index out of bounds in one turn of a replay: as in eager, and nothing has changed."""
    table, total = clew.randn(5, 3), clew.zeros(3)

    def function(indices, x):
        state = x
        for at in range(200):
            state = (state + table.index_select(0, indices[at : at + 1])[0]).sin()
        total.add_(state)
        return [state]

    compiled = clew.compile(function)
    good, x = clew.arange(200) % 5, clew.randn(3)
    for _ in range(3):
        compiled(good, x)
    assert folded(compiled)[0] == 1
    before, bad = bits([total]), good.clone()
    bad[150] = 7
    for one in function, compiled:
        with pytest.raises(IndexError, match="out of"):
            one(bad, x)
    assert bits([total]) == before
    assert bits(compiled(good, x)) == bits(function(good, x))


def test_what_stays_steps():
    """What the rules do not fit is as it was."""
    argument = clew.zeros(3, 3)

    def drawn(x, y):
        for _ in range(300):
            x = nn.functional.dropout(x * y, 0.1) + clew.randn(3, 3)
        return [x]

    def numbered(x, y):
        for at in range(300):
            x = (x * (1.0 / (at + 1))).sin() * y
        return [x]

    def read(x, y):
        for _ in range(300):
            x = (x * y).sin()
            if x.sum().item() > 1e9:
                x = -x
        return [x]

    def written(x, y):
        for _ in range(300):
            argument.mul_(0.5).add_(x * y)
        return [argument.clone()]

    for function in drawn, numbered, read, written:
        compiled = clew.compile(function)
        for seed in range(4):
            x, y = matrix(), matrix()
            argument.zero_()
            clew.manual_seed(seed)
            expected = bits(function(x, y))
            argument.zero_()
            clew.manual_seed(seed)
            assert bits(compiled(x, y)) == expected
        assert folded(compiled)[0] == 0, function


def test_results_of_each_turn():
    def function(x, y):
        given = []
        for _ in range(200):
            x = (x * y).sin() + 0.5
            given.append(x)
        return given[-20:] if len(given) > 20 else given

    def few(x, y):
        given = []
        for at in range(200):
            x = (x * y).sin() + 0.5
            if at % 20 == 19:
                given.append(x)
        return given

    check(function, matrix, matrix)
    check(few, matrix, matrix)


def test_results_are_apart():
    """What a call gives stays as it is when the next one runs."""
    compiled = clew.compile(integrated(60))
    start, rate = clew.randn(2), clew.rand(1)
    given = [compiled(start + call, rate) for call in range(4)]
    then = [bits(one) for one in given[:3]]
    given.append(compiled(start, rate))
    assert [bits(one) for one in given[:3]] == then
    assert bits(given[4]) == bits(given[0])
    assert {one.untyped_storage().nbytes() for one in given[3]} == {4, 8}  # not the memory of the loop


def test_functions_with_hooks_and_classes():
    class Doubled(clew.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2.0

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * 2.0 + 0.0 * x

    compiled = check(recurrent(lambda s, w, at: Doubled.apply(s * w).sin()), matrix, matrix)
    assert folded(compiled)[0] >= 1


def test_modules():
    cell = nn.GRUCell(3, 5)

    def function(sequence):
        state = clew.zeros(2, 5)
        for at in range(60):
            state = cell(sequence[at], state)
        cell.zero_grad()
        state.square().sum().backward()
        return [state.detach(), *(one.grad for one in cell.parameters())]

    check(function, lambda: clew.randn(60, 2, 3))


@pytest.mark.parametrize("dtype", [clew.float64, clew.complex64])
def test_other_dtypes(dtype):
    def function(x, y):
        state = x
        for _ in range(300):
            state = (state * y) * 0.9 + 0.1
        return [state]

    assert folded(check(function, lambda: clew.randn(5, dtype=dtype), lambda: clew.randn(5, dtype=dtype)))[0] == 1


def test_counts():
    def function(x):
        count = clew.zeros((), dtype=clew.int64)
        for _ in range(300):
            count += (x > 0).sum()
            x = x.roll(1).neg()
        return [count, x]

    assert folded(check(function, lambda: clew.randn(7)))[0] == 1


def test_checked_calls_compare_each_step():
    """A function whose loops were folded is recorded anew for that."""
    function = integrated(60)
    compiled = clew.compile(function)
    start, rate = clew.randn(2), clew.rand(1)
    for _ in range(3):
        compiled(start, rate)
    compiled.check(2)
    for _ in range(4):
        assert bits(compiled(start, rate)) == bits(function(start, rate))
    assert "checked: 2 calls" in compiled.why()
    assert folded(compiled)[0] == 2  # again, once nothing is to be checked


def test_a_check_before_the_first_replay():
    function = integrated(60)
    compiled = clew.compile(function)
    start, rate = clew.randn(2), clew.rand(1)
    compiled(start, rate)
    compiled.check(1)
    for _ in range(4):
        assert bits(compiled(start, rate)) == bits(function(start, rate))
    assert folded(compiled)[0] == 2


def test_code_takes_over(monkeypatch):
    monkeypatch.setenv("CLEW_CODE", "now")
    compiled = check(integrated(60), *state_and_rate())
    assert folded(compiled)[0] == 2
    assert any("ready" in line for line in compiled.code), compiled.code


def test_drawn_loops():
    found = loops.tally("tests", 60)
    assert found.finds == []
    assert found.folded > 15
    assert np.isclose(found.hits, 60 * (loops.CALLS - 1), rtol=0.1)
