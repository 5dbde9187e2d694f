"""Row 6.2: activations leave their derivative for the backward of the same replay; the bits are eager's.

See Note [Derivatives kept for the backward] in core/program/passes/keeping_derivatives.cpp.
"""

import numpy as np
import pytest

import clew

F = clew.nn.functional

pytestmark = pytest.mark.records_calls

ACTIVATIONS = {"gelu": F.gelu, "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"), "mish": F.mish}


def plain(f, x, w):
    return f(x * w)


def layers(f, x, w):
    return f(f(x * w) * w + 1.0)


def the_input_is_used_too(f, x, w):
    h = x * w
    return f(h) + h.exp()


def the_input_leaves(f, x, w):
    h = x * w
    return f(h), h


def twice(f, x, w):
    h = x * w
    return f(h) * f(h)


def the_input_is_written_before_the_backward(f, x, w):
    h = x * w
    y = f(h)
    h.data.mul_(0.5)
    return y


def the_input_is_written_before(f, x, w):
    h = x * w
    h.data.mul_(0.5)
    return f(h)


def an_argument(f, x, w):
    return f(w) * x


def a_constant(f, x, w):
    h = clew.linspace(-3.0, 3.0, x.shape[1]).to(x.dtype) * 2.0
    h.requires_grad_()
    y = f(h)
    (slope,) = clew.autograd.grad((y * w.sum()).sum(), h)
    return y.detach() * x + slope * w, y.detach(), slope


def transposed(f, x, w):
    return f((x * w).T).contiguous()


def every_other(f, x, w):
    return f((x * w)[:, ::2])


def a_part(f, x, w):
    return f((x * w)[1:])


def each_half(f, x, w):
    h = x * w
    return f(h[:2]), f(h[2:])


def a_broadcast_gradient(f, x, w):
    return f(x * w).sum()


BODIES = [
    plain,
    layers,
    the_input_is_used_too,
    the_input_leaves,
    twice,
    the_input_is_written_before_the_backward,
    the_input_is_written_before,
    an_argument,
    a_constant,
    transposed,
    every_other,
    a_part,
    each_half,
    a_broadcast_gradient,
]
SIZES = [(3, 5), (5, 64), (9, 1111), (20, 7001)]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -6.0, 6.0, -100.0, 3e38]


def bits(values):
    """Any NaN is as good as another."""
    arrays = [np.ascontiguousarray(one.detach().numpy()) for one in values]
    return [np.where(np.isnan(one), np.ones((), one.dtype), one).tobytes() for one in arrays]


@pytest.mark.parametrize("code", ["0", "now"])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name, body, code, monkeypatch):
    monkeypatch.setenv("CLEW_CODE", code)

    def step(x, w):
        made = body(ACTIVATIONS[name], x, w)
        results = made if isinstance(made, tuple) else (made,)
        with clew.autograd.graph.allow_data_writes():
            sum(one.sin().sum() for one in results).backward()
        return results

    for index, shape in enumerate(SIZES):
        compiled, dtype = clew.compile(step, fullgraph=True), ["float32", "float64"][index % 2]
        rng = np.random.default_rng(index)
        for _ in range(4):
            drawn = [rng.standard_normal(shape).astype(dtype) * 3 for _ in range(2)]
            drawn[0].flat[rng.integers(0, drawn[0].size, 3)] = rng.choice(SPECIAL, 3)
            results = []
            for function in (step, compiled):
                x, w = (clew.from_numpy(one.copy()).requires_grad_() for one in drawn)
                results.append(bits([*function(x, w), x.grad, w.grad]))
            assert results[0] == results[1], shape
        assert compiled.hits == 3


def test_two_backward_passes_through_one_activation():
    def step(x):
        y = F.gelu(x * 1.5).sum()
        y.backward(retain_graph=True)
        y.backward()
        (slope,) = clew.autograd.grad(F.gelu(x * 0.5).sum(), x, create_graph=True)
        slope.square().sum().backward()
        return y

    compiled = clew.compile(step, fullgraph=True)
    for seed in range(4):
        drawn = np.random.default_rng(seed).standard_normal(777).astype("float32")
        results = []
        for function in (step, compiled):
            x = clew.from_numpy(drawn.copy()).requires_grad_()
            results.append(bits([function(x), x.grad]))
        assert results[0] == results[1]
    assert compiled.hits == 3
