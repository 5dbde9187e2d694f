"""Row 6.2: a result that is only copied is written where the copy brings it; the bits are eager's.

See Note [Results written where they are copied to] in core/program/passes/copy_elision.cpp.
"""

import numpy as np
import pytest

import clew

F = clew.nn.functional
BATCH, LENGTH, HEADS, WIDTH = 2, 33, 3, 8

pytestmark = pytest.mark.records_calls


def heads(part):
    return part.reshape(BATCH, LENGTH, -1, WIDTH).transpose(1, 2)


def attend(q, k, v):
    return F.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)


def parts(joined):
    return attend(*joined.split(HEADS * WIDTH, dim=2))


def parts_of_other_order(joined):
    v, q, k = joined.chunk(3, dim=2)
    return attend(q, k, v)


def each_head_has_its_parts(joined):
    q, k, v = joined.view(BATCH, LENGTH, HEADS, 3, WIDTH).unbind(3)
    return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))


def parts_follow_each_other(joined):
    q, k, v = joined.view(BATCH, 3, LENGTH, HEADS * WIDTH).unbind(1)
    return attend(q, k, v)


def a_part_is_used_twice(joined):
    q, k, v = joined.split(HEADS * WIDTH, dim=2)
    return attend(q, k, v) * heads(k)


def one_part_is_keys_and_values(joined):
    q, k, _ = joined.split(HEADS * WIDTH, dim=2)
    return attend(q, k, k)


def parts_overlap(joined):
    whole = HEADS * WIDTH
    return attend(joined[..., :whole], joined[..., whole - WIDTH : 2 * whole - WIDTH], joined[..., 2 * whole :])


BODIES = [
    parts,
    parts_of_other_order,
    each_head_has_its_parts,
    parts_follow_each_other,
    a_part_is_used_twice,
    one_part_is_keys_and_values,
    parts_overlap,
]


@pytest.mark.parametrize("body", BODIES)
def test_parts_of_one_product(body):
    def step(x, weight):
        y = body(x @ weight)
        y.sin().sum().backward()
        return y

    same_as_eager(step)


def test_a_gradient_of_a_part_is_kept():
    def step(x, weight):
        q, k, v = (x @ weight).split(HEADS * WIDTH, dim=2)
        k.retain_grad()
        y = attend(q, k, v)
        y.sin().sum().backward()
        return y, k.grad

    same_as_eager(step)


def bits(results, *more):
    list_of = results if isinstance(results, tuple) else (results,)
    return [one.detach().numpy().tobytes() for one in (*list_of, *more)]


def same_as_eager(step):
    compiled = clew.compile(step, fullgraph=True)
    rng = np.random.default_rng(3)
    for _ in range(4):
        drawn = [rng.standard_normal(shape) for shape in [(BATCH, LENGTH, 5), (5, 3 * HEADS * WIDTH)]]
        results = []
        for function in (step, compiled):
            leaves = [clew.tensor(one, dtype=clew.float32).requires_grad_() for one in drawn]
            results.append(bits(function(*leaves), *(leaf.grad for leaf in leaves)))
        assert results[0] == results[1]
    assert compiled.hits == 3


def test_parts_of_an_optimizers_step():
    """The joined gradient is that of a parameter, which an optimizer reads."""

    def train(compile_it):
        clew.manual_seed(0)
        joined = clew.randn(BATCH, LENGTH, 3 * HEADS * WIDTH, requires_grad=True)
        optimizer = clew.optim.AdamW([joined], lr=0.01)

        def step(scale):
            optimizer.zero_grad()
            loss = (parts(joined) * scale).square().sum()
            loss.backward()
            optimizer.step()
            return loss

        run = clew.compile(step) if compile_it else step
        losses = [run(clew.tensor(float(i))).item() for i in range(5)]
        return losses, joined.detach().numpy().tobytes(), joined.grad.numpy().tobytes()

    assert train(False) == train(True)
