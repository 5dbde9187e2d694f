"""Row 6.2: lookups and losses of classes run as captured kernels, which look at their indices themselves.

See Note [Captured kernels] in core/kernels/capture.h, and Note [Joined calls] in core/program/passes/pair_fusion.cpp.
"""

import numpy as np
import pytest

import clew

F = clew.nn.functional

pytestmark = pytest.mark.records_calls
ROWS, CLASSES = 6, 5


def looked_up(x, index):
    return F.embedding(index, x).sin()


def looked_up_beside_padding(x, index):
    return F.embedding(index, x, padding_idx=2).sin()


def selected(x, index):
    return clew.index_select(x, 0, index) * x[0]


def gathered(x, index):
    return x.gather(0, index.unsqueeze(1).expand(ROWS, CLASSES)).exp()


def scattered(x, index):
    return x.index_add(0, index, x.tanh()).index_copy(0, index[:1], x[:1])


def written_in_place(x, index):
    y = x * 2
    y.index_add_(0, index, x.cos())
    return y


def cross_entropy(x, index):
    return F.cross_entropy(x, index)


def sum_of_some(x, index):
    return F.cross_entropy(x, index, reduction="sum", ignore_index=1)


def each_loss(x, index):
    return F.cross_entropy(x, index, reduction="none").square()


def weighted(x, index):
    return F.cross_entropy(x, index, weight=x.detach()[0].abs())


def of_more_axes(x, index):
    return F.cross_entropy(clew.stack([x, x * 2], 2), clew.stack([index, index], 1))


def the_logarithms_are_used_twice(x, index):
    logs = F.log_softmax(x, dim=1)
    return F.nll_loss(logs, index) + logs.square().mean()


def of_one_class(x, index):
    return F.cross_entropy(x[:, :1], index * 0)


BODIES = [
    looked_up,
    looked_up_beside_padding,
    selected,
    gathered,
    scattered,
    written_in_place,
    cross_entropy,
    sum_of_some,
    each_loss,
    weighted,
    of_more_axes,
    the_logarithms_are_used_twice,
    of_one_class,
]


def step_of(body):
    def step(x, index):
        y = body(x, index)
        y.sum().backward()
        return y

    return step


def run(function, x, index):
    leaf = clew.from_numpy(x.copy()).requires_grad_()
    y = function(leaf, clew.from_numpy(index))
    return [one.detach().numpy().tobytes() for one in (y, leaf.grad)]


def drawn(rng, dtype, scale=1.0):
    return (rng.standard_normal((ROWS, CLASSES)) * scale).astype(dtype), rng.integers(0, CLASSES, ROWS)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits(body, dtype):
    step = step_of(body)
    compiled, rng = clew.compile(step, fullgraph=True), np.random.default_rng(5)
    for scale in (1.0, 1.0, 1.0, 100.0, 1000.0):  # where exponentials are 0, zeros have signs
        x, index = drawn(rng, dtype, scale)
        assert run(step, x, index) == run(compiled, x, index), scale
    assert compiled.hits == 4


def test_bits_where_values_are_no_numbers():
    step = step_of(sum_of_some)
    compiled, rng = clew.compile(step, fullgraph=True), np.random.default_rng(6)
    for value in (0.0, 0.0, np.nan, np.inf, -np.inf):
        x, index = drawn(rng, "float32")
        x[1:4, 2], index[1], index[2] = value, 2, 1
        assert run(step, x, index) == run(compiled, x, index), value


@pytest.mark.parametrize("body", BODIES[:-1])
@pytest.mark.parametrize("bad", [CLASSES + 3, -7])
def test_an_index_out_of_bounds(body, bad):
    """A replay ends as eager execution does, and what it would have written is as before."""
    state = clew.zeros(3)

    def step(x, index):
        state.add_(1)
        y = body(x, index)
        y.sum().backward()
        state.mul_(3)
        return y

    compiled, rng = clew.compile(step), np.random.default_rng(7)
    for _ in range(3):
        x, index = drawn(rng, "float32")
        run(compiled, x, index)
    before, hits = state.tolist(), compiled.hits
    x, index = drawn(rng, "float32")
    index[0] = bad
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        run(compiled, x, index)
    assert state.tolist() == [value + 1 for value in before]  # eager execution tells of the error, and begins anew
    x, index = drawn(rng, "float32")
    assert run(compiled, x, index) == run(step_of(body), x, index)
    assert hits == 2


def test_a_kept_program_names_the_line():
    x, index = clew.ones(ROWS, CLASSES), clew.zeros(ROWS, dtype=clew.int64)
    with clew.keep_graph():
        y = F.embedding(index, x).sum()
    y.forward()
    y.forward()
    index.fill_(9)
    with pytest.raises(clew.ReplayError, match=r"(?s)index out of range.*test_checked_calls\.py"):
        y.forward()
