"""Row 6.2: an elementwise call of a replay writes over an operand that nobody needs any more; the bits are eager's.

See Note [Reused buffers] in core/program/passes/buffer_reuse.cpp. Products between keep the calls out of strips.
"""

import numpy as np
import pytest

import clew

pytestmark = pytest.mark.records_calls

SIZE = 100  # 40,000 bytes, or twice as many


def shifted(x, w):
    h = (x @ w).view(-1)
    return (h[1:] + h[:-1]) @ h[1:]


def beside_itself(x, w):
    h = x @ w
    return (h.view(-1) + h.view(-1).flip(0)).view(SIZE, SIZE) @ w


def a_part(x, w):
    h = (x @ w).view(-1)
    return (h[: h.numel() - SIZE].tanh()).view(SIZE - 1, SIZE) @ w


BODIES = {
    "a residual": lambda x, w: (x @ w + x @ x) @ w,
    "a chain": lambda x, w: ((x @ w).tanh() @ x + 1.0) @ w,
    "twice the same": lambda x, w: (h := x @ w, (h * h) @ x)[1],
    "used later": lambda x, w: (h := x @ w, (h.exp() @ x) / (h.square() @ w))[1],
    "a row": lambda x, w: (x @ w + w[0]) @ x,
    "its first element": lambda x, w: (h := x @ w, (h * h[0, 0]) @ x)[1],
    "its first row": lambda x, w: (h := x @ w, (h * h[0]) @ x)[1],
    "transposed": lambda x, w: (h := x @ w, (h + h.T) @ x)[1],
    "another dtype": lambda x, w: (x @ w).to(clew.int32).to(x.dtype) @ w,
    "a larger dtype": lambda x, w: (x @ w).double().sin() @ w.double(),
    "a truth": lambda x, w: clew.where(x @ w > 0, x @ x, w @ w) @ x,
    "in place": lambda x, w: (x @ w).mul_(x @ x) @ w,
    "shifted": shifted,
    "beside itself": beside_itself,
    "a part": a_part,
}


@pytest.mark.parametrize("name", BODIES)
def test_places(name):
    def step(x, w):
        y = BODIES[name](x, w)
        if y.requires_grad:
            y.sin().sum().backward()
        return y

    for dtype in ("float32", "float64"):
        compiled, rng = clew.compile(step, fullgraph=True), np.random.default_rng(len(name))
        for _ in range(4):
            drawn = [rng.standard_normal((SIZE, SIZE)).astype(dtype) * 0.3 for _ in range(2)]
            results = []
            for function in (step, compiled):
                x, w = (clew.from_numpy(one.copy()).requires_grad_() for one in drawn)
                y = function(x, w)
                results.append([one.numpy().tobytes() for one in (y.detach(), x.grad, w.grad) if one is not None])
            assert results[0] == results[1]
        assert compiled.hits == 3


def test_axes_of_one_element_of_a_gradient_lie_as_in_eager():
    """A rule writes over its gradient only if a fresh result would lie so: in a recording, nothing is written over."""

    def second(x):
        turned = x.rot90(1, (2, 0))
        clew.relu_(turned)
        (first,) = clew.autograd.grad(turned, x, clew.linspace(0.5, 1.5, 12).reshape(3, 4, 1), create_graph=True)
        return [first, *clew.autograd.grad(first.sum(), x)]

    compiled = clew.compile(second)
    for _ in range(4):
        x = clew.randn(1, 4, 3, requires_grad=True)
        expected, found = second(x), compiled(x)
        assert [one.stride() for one in found] == [one.stride() for one in expected]
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]
    assert compiled.hits == 3
