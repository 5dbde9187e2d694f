"""Row 6.2: the backward of attention takes its scores from the forward of the same replay; the bits are eager's.

See Note [Scores kept for the backward] in core/program/passes/keeping_scores.cpp.
"""

import numpy as np
import pytest

import clew

F = clew.nn.functional

pytestmark = pytest.mark.records_calls


def plain(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v)


def causal(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def masked_by_truth(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask > 0)


def twice(q, k, v, mask):
    first = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.scaled_dot_product_attention(first, k, first, scale=0.3) * F.scaled_dot_product_attention(q, k, first)


def the_mask_is_written_afterwards(q, k, v, mask):
    mine = mask * 1.0
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mine)
    mine.data.mul_(0.5)
    return y


def the_keys_are_written_afterwards(q, k, v, mask):
    mine = k * 1.0
    y = F.scaled_dot_product_attention(q, mine, v)
    mine.data.add_(0.25)
    return y


BODIES = [
    plain,
    causal,
    masked,
    masked_by_truth,
    twice,
    the_mask_is_written_afterwards,
    the_keys_are_written_afterwards,
]
# Heads, queries, keys, width; the last ones are too many to be kept.
SIZES = [(6, 64, 64, 32), (3, 40, 70, 8), (2, 130, 33, 16), (1, 3, 3, 4), (2, 300, 300, 8), (20, 200, 200, 8)]


@pytest.mark.parametrize("body", BODIES)
def test_attention(body):
    def step(q, k, v, mask):
        y = body(q, k, v, mask)
        with clew.autograd.graph.allow_data_writes():
            y.sin().sum().backward()
        return y

    for index, (heads, queries, keys, width) in enumerate(SIZES):
        if body is twice:
            keys = queries
        compiled, dtype = clew.compile(step, fullgraph=True), ["float32", "float64"][index % 2]
        rng = np.random.default_rng(index)
        for _ in range(4):
            shapes = [(heads, queries, width), (heads, keys, width), (heads, keys, width), (queries, keys)]
            drawn = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
            results = []
            for function in (step, compiled):
                q, k, v, mask = (clew.from_numpy(one.copy()) for one in drawn)
                leaves = [one.requires_grad_() for one in (q, k, v)]
                y = function(*leaves, mask)
                results.append([one.detach().numpy().tobytes() for one in (y, *(leaf.grad for leaf in leaves))])
            assert results[0] == results[1], (heads, queries, keys)
        assert compiled.hits == 3
