"""Large gradients pass through elementwise operations in strips: nothing but the memory they take tells."""

import numpy
import pytest

import clew
from clew.nn import functional as F

SIZE = (1 << 20) + 12_347  # elements, more than 4 MiB of float32: not a multiple of any strip
pytestmark = pytest.mark.beyond


def values(seed, dtype="float32"):
    return clew.tensor(numpy.random.default_rng(seed).standard_normal(SIZE).astype(dtype))


def gelu(x):
    return 0.5 * x * (1.0 + (0.79788456 * (x + 0.044715 * x**3)).tanh())


def many(x):
    y = x.sin() * x.exp() - (x * x + 1.0).log()
    return y / (1.0 + y.sigmoid()) + F.silu(-y) + (y**2 + 0.5).sqrt() - x.abs()


def in_pieces(program, x, gradient, piece=10_000):
    """The same derivative of pieces that are too small to be cut."""
    grads = []
    for start in range(0, SIZE, piece):
        part = x[start : start + piece].clone().requires_grad_()
        program(part).backward(gradient[start : start + piece].clone())
        grads.append(part.grad)
    return clew.cat(grads).numpy()


@pytest.mark.parametrize("program", [gelu, many])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_are_those_of_small_tensors(program, dtype, threads):
    before = clew.get_num_threads()
    x, gradient = values(0, dtype).requires_grad_(), values(1, dtype)
    expected = in_pieces(program, x.detach(), gradient)
    clew.set_num_threads(threads)
    try:
        program(x).backward(gradient)
    finally:
        clew.set_num_threads(before)
    numpy.testing.assert_array_equal(x.grad.numpy(), expected)


def test_the_gradient_of_a_sum_and_of_several_leaves():
    x, y = values(0).requires_grad_(), values(1).requires_grad_()
    (gelu(x * y) * y + x).sum().backward()
    ones = clew.ones(SIZE)
    numpy.testing.assert_array_equal(
        x.grad.numpy(), in_pieces(lambda part: gelu(part[0] * part[1]) * part[1] + part[0], *pair(x, y, ones, 0))
    )
    numpy.testing.assert_array_equal(
        y.grad.numpy(), in_pieces(lambda part: gelu(part[0] * part[1]) * part[1] + part[0], *pair(x, y, ones, 1))
    )


def pair(x, y, gradient, which):
    """A program over a pair needs both parts of it: the other one is cut along with the one that is asked."""

    class Cut:
        def __getitem__(self, place):
            self.other = (y if which == 0 else x).detach()[place]
            return Part((x if which == 0 else y).detach()[place], self.other, which)

    return Cut(), gradient


class Part:
    def __init__(self, asked, other, which):
        self.asked, self.other, self.which = asked, other, which

    def clone(self):
        return Part(self.asked.clone(), self.other, self.which)

    def requires_grad_(self):
        self.asked.requires_grad_()
        return self

    def __getitem__(self, i):
        return self.asked if i == self.which else self.other

    @property
    def grad(self):
        return self.asked.grad


def test_what_is_watched_is_whole_and_right():
    x, gradient = values(0).requires_grad_(), values(1)
    plain = in_pieces(gelu, x.detach(), gradient)
    seen = []
    inner = x**3
    inner.retain_grad()
    middle = 0.79788456 * (x + 0.044715 * inner)
    middle.register_hook(lambda g: seen.append(g))
    out = 0.5 * x * (1.0 + middle.tanh())
    out.backward(gradient, retain_graph=True)
    # What reaches x from both sides of the hook is added up in another order.
    numpy.testing.assert_allclose(x.grad.numpy(), plain, rtol=1e-5, atol=1e-6)
    assert seen[0].shape == inner.grad.shape == x.shape
    numpy.testing.assert_array_equal(inner.grad.numpy(), (seen[0] * 0.79788456 * 0.044715).numpy())
    kept = [seen[0].clone(), inner.grad.clone()]
    x.grad = None
    out.backward(gradient)
    numpy.testing.assert_allclose(x.grad.numpy(), plain, rtol=1e-5, atol=1e-6)
    numpy.testing.assert_array_equal(seen[0].numpy(), kept[0].numpy())
    with pytest.raises(RuntimeError, match="second time"):
        out.backward(gradient)


def test_a_gradient_that_the_user_holds_is_not_written_over():
    x, gradient = values(0).requires_grad_(), values(1)
    before = gradient.numpy().copy()
    gelu(x).backward(gradient)
    numpy.testing.assert_array_equal(gradient.numpy(), before)


def test_captured_gradients():
    x, gradient = values(0).requires_grad_(), values(1)
    inner = x.tanh()
    out = (inner * inner + inner).exp()
    by_inner, by_x = clew.autograd.grad(out, [inner, x], gradient)
    expected = gradient * out.detach() * (2 * inner.detach() + 1)
    numpy.testing.assert_allclose(by_inner.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)
    numpy.testing.assert_allclose(by_x.numpy(), (expected * (1 - inner.detach() ** 2)).numpy(), rtol=1e-4, atol=1e-5)


def test_what_was_written_in_place_is_noticed():
    x = values(0).requires_grad_()
    y = x.exp()
    out = y * 2.0 + y
    y.mul_(2.0)
    z = (out * x).sum()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_matrices_and_rows_beside_them():
    x = clew.tensor(numpy.random.default_rng(0).standard_normal((1100, 1003)).astype("float32")).requires_grad_()
    row = clew.ones(1003, requires_grad=True)
    out = ((x * 2.0).tanh() * row).sin()
    out.sum().backward()
    t = numpy.tanh(2.0 * x.detach().numpy().astype("float64"))
    numpy.testing.assert_allclose(x.grad.numpy(), numpy.cos(t) * 2 * (1 - t * t), rtol=2e-4, atol=1e-5)
    numpy.testing.assert_allclose(row.grad.numpy(), (numpy.cos(t) * t).sum(0), rtol=1e-3, atol=1e-2)


def test_gradients_between_are_never_whole():
    x = values(0).requires_grad_()
    y = x
    for _ in range(12):
        y = (y * 1.01).tanh()
    loss = y.sum()
    del y
    live = clew.memory.stats().live
    clew.memory.reset_peak()
    loss.backward()
    assert clew.memory.stats().peak - live < 1.5 * 4 * SIZE  # the gradient of x, and strips
