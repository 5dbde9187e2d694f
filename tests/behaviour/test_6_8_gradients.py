"""6.8: a replay writes a new gradient into the one before only if nobody can tell."""

import weakref

import numpy
import pytest

import clew

pytestmark = pytest.mark.beyond


def steps():
    """The compiled step and the weight that it trains."""
    weight = clew.tensor([1.0, 2.0, 3.0], requires_grad=True)

    @clew.compile
    def step(x):
        weight.grad = None
        loss = (weight * x).tanh().sum()
        loss.backward()
        return loss

    for i in range(3):
        step(clew.full((3,), float(i)))
    return step, weight


def gradient(weight, x):
    return x * (1 - numpy.tanh(weight.detach().numpy() * x) ** 2)


def test_it_is_where_the_one_before_was():
    step, weight = steps()
    place = weight.grad.data_ptr()
    step(clew.full((3,), 0.5))
    assert weight.grad.data_ptr() == place
    numpy.testing.assert_allclose(weight.grad.numpy(), gradient(weight, 0.5), rtol=1e-6)


@pytest.mark.parametrize(
    "hold",
    [
        lambda grad: grad,
        lambda grad: grad.detach(),
        lambda grad: grad[1:],
        lambda grad: grad.numpy(),
        lambda grad: memoryview(grad.numpy()),
    ],
    ids=["object", "detached", "view", "numpy", "memoryview"],
)
def test_one_that_is_held_stays_as_it_is(hold):
    step, weight = steps()
    held = hold(weight.grad)
    before = numpy.array(held)
    step(clew.full((3,), 0.5))
    assert numpy.array_equal(numpy.array(held), before)
    assert not numpy.array_equal(weight.grad.numpy()[-before.size :], before)


def test_a_weak_reference_dies():
    step, weight = steps()
    reference = weakref.ref(weight.grad)
    step(clew.full((3,), 0.5))
    assert reference() is None


def test_attributes_do_not_pass_to_the_next():
    step, weight = steps()
    weight.grad.note = "of the step before"
    step(clew.full((3,), 0.5))
    assert not hasattr(weight.grad, "note")


def test_a_gradient_of_another_layout_is_left():
    step, weight = steps()
    weight.grad = clew.zeros(6)[::2]
    step(clew.full((3,), 0.5))
    assert weight.grad.is_contiguous()
    numpy.testing.assert_allclose(weight.grad.numpy(), gradient(weight, 0.5), rtol=1e-6)


def test_a_graph_that_saved_it_still_has_its_value():
    step, weight = steps()
    x = clew.tensor([1.0, 1.0, 1.0], requires_grad=True)
    before = weight.grad.numpy().copy()
    product = (x * weight.grad).sum()
    step(clew.full((3,), 0.5))
    product.backward()
    assert numpy.array_equal(x.grad.numpy(), before)


def test_a_replay_that_fails_leaves_it():
    weight = clew.tensor([1.0, 2.0, 3.0], requires_grad=True)

    @clew.compile
    def step(x):
        loss = (weight * x).sum()
        if bool(x.sum() <= 0):
            raise ValueError("not positive")
        weight.grad = None
        loss.backward()
        return loss

    for _ in range(3):
        step(clew.ones(3))
    assert step.hits
    place = weight.grad.data_ptr()
    with pytest.raises(ValueError, match="not positive"):
        step(-clew.ones(3))
    assert weight.grad.data_ptr() == place
    assert clew.equal(weight.grad, clew.ones(3))
    hits = step.hits
    step(clew.full((3,), 2.0))
    assert step.hits == hits + 1
    assert clew.equal(weight.grad, clew.full((3,), 2.0))


def test_two_gradients_on_the_same_memory_are_two_tensors():
    v, w = clew.ones(2, requires_grad=True), clew.ones(2, requires_grad=True)

    def step(x):
        y = x * 1
        v.grad = y
        w.grad = y.detach()

    compiled = clew.compile(step)

    def calls():
        for _ in range(3):
            compiled(clew.ones(2))
            assert v.grad is not w.grad
            assert v.grad.data_ptr() == w.grad.data_ptr()

    with pytest.warns(clew.KeepWarning, match="two tensors on the same memory"):
        calls()
