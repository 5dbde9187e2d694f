"""Row 6.2: layer norm and attention in a replay run on memory that was laid out before; the bits are eager's."""

import numpy as np
import pytest

import clew

F = clew.nn.functional

pytestmark = pytest.mark.records_calls


def drawn(seed, *shapes, dtype="float32"):
    rng = np.random.default_rng(seed)
    return [clew.from_numpy(rng.standard_normal(shape).astype(dtype)) for shape in shapes]


def bits(results):
    return [None if one is None else one.detach().numpy().tobytes() for one in results]


def results_and_gradients(function, inputs):
    """What it gives and the gradients of its inputs, of a sum with weights that differ."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    out = function(*inputs)
    loss = (out * clew.linspace(0.5, 1.5, out.numel(), dtype=out.dtype).reshape(out.shape)).sum()
    return [out.detach(), *clew.autograd.grad(loss, inputs, allow_unused=True)]


def check(function, make, hits=3):
    compiled = clew.compile(function)
    for seed in range(hits + 1):
        assert bits(compiled(*make(seed))) == bits(function(*make(seed)))
    assert compiled.hits == hits


NORMS = {
    "affine": lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
    "without a bias": lambda x, w, b: F.layer_norm(x, x.shape[-1:], w) * b,
    "plain": lambda x, w, b: F.layer_norm(x, x.shape[-1:]) * w + b,
    "over a view": lambda x, w, b: F.layer_norm(x.transpose(0, 1), x.shape[-1:], w, b),
    "two in a row": lambda x, w, b: F.layer_norm(F.layer_norm(x, x.shape[-1:], w, b) + x, x.shape[-1:], b, w),
    "of what is written": lambda x, w, b: F.layer_norm((x * 2.0).add_(1.0), x.shape[-1:], w, b).mul_(2.0),
    "unread": lambda x, w, b: (F.layer_norm(x, x.shape[-1:], w, b), x * w)[1],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NORMS)
def test_layer_norm(name, dtype):
    for shape in [(3, 4, 5), (40, 30, 64)]:
        check(
            lambda *inputs: results_and_gradients(NORMS[name], inputs),
            lambda seed, shape=shape: drawn(seed, shape, shape[-1:], shape[-1:], dtype=dtype),
        )


def test_layer_norm_of_some_gradients():
    def function(x, w, b):
        w = w.detach().requires_grad_()
        return clew.autograd.grad(F.layer_norm(x, x.shape[-1:], w, b).square().sum(), w)

    check(function, lambda seed: drawn(seed, (6, 8), (8,), (8,)))


ATTENTIONS = {
    "plain": lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    "causal": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "scaled": lambda q, k, v: F.scaled_dot_product_attention(q * 2.0, k + 1.0, v, scale=0.3),
    "masked": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=q[..., :1] > k[..., 0].unsqueeze(-2)),
    "biased": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=k[0, 0, :, 0].detach() * 2.0),
    "of itself": lambda q, k, v: F.scaled_dot_product_attention(q, q, q) + (k * v).sum(),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name):
    """Many heads, and one head whose keys are cut into parts."""
    for shape, dtype in [((2, 4, 17, 8), "float32"), ((1, 1, 300, 5), "float64")]:
        check(
            lambda *inputs: results_and_gradients(ATTENTIONS[name], inputs),
            lambda seed, shape=shape, dtype=dtype: drawn(seed, shape, shape, shape, dtype=dtype),
        )


@pytest.mark.parametrize("threads", [1, 2])
def test_a_transformers_training(threads):
    """Queries, keys and values are views of one array; gradients keep their memory from replay to replay."""

    def made():
        clew.manual_seed(0)
        parts = clew.nn.Linear(16, 48), clew.nn.Linear(16, 16), clew.nn.LayerNorm(16), clew.nn.LayerNorm(16)
        parameters = [p for part in parts for p in part.parameters()]
        return parts, parameters, clew.optim.AdamW(parameters, lr=0.01)

    def step_of(parts, optimizer):
        into, out, before, after = parts

        def step(x):
            optimizer.zero_grad()
            q, k, v = (p.view(3, 20, 2, 8).transpose(1, 2) for p in into(before(x)).split(16, dim=2))
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            loss = after(x + out(seen.transpose(1, 2).reshape(3, 20, 16))).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    number = clew.get_num_threads()
    clew.set_num_threads(threads)
    try:
        parts, parameters, optimizer = made()
        eager = step_of(parts, optimizer)
        parts, mine, optimizer = made()
        compiled = clew.compile(step_of(parts, optimizer))
        places = []
        for seed in range(6):
            (x,) = drawn(seed, (3, 20, 16))
            assert bits([compiled(x)]) == bits([eager(x)])
            assert bits(mine) == bits(parameters)
            assert bits(p.grad for p in mine) == bits(p.grad for p in parameters)
            places.append([p.grad.data_ptr() for p in mine])
        assert compiled.hits >= 3
        assert places[-1] == places[-2]
        compiled.check(2)
        compiled(x)
        compiled(x)
    finally:
        clew.set_num_threads(number)
