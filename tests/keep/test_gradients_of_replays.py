"""6.8: a replay writes a new gradient into the one before only if nobody can tell."""

import contextlib
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


@pytest.mark.records_calls
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
@pytest.mark.records_calls
def test_one_that_is_held_stays_as_it_is(hold):
    step, weight = steps()
    held = hold(weight.grad)
    before = numpy.array(held)
    step(clew.full((3,), 0.5))
    assert numpy.array_equal(numpy.array(held), before)
    assert not numpy.array_equal(weight.grad.numpy()[-before.size :], before)


@pytest.mark.records_calls
def test_a_weak_reference_dies():
    step, weight = steps()
    reference = weakref.ref(weight.grad)
    step(clew.full((3,), 0.5))
    assert reference() is None


@pytest.mark.records_calls
def test_attributes_do_not_pass_to_the_next():
    step, weight = steps()
    weight.grad.note = "of the step before"
    step(clew.full((3,), 0.5))
    assert not hasattr(weight.grad, "note")


@pytest.mark.records_calls
def test_a_gradient_of_another_layout_is_left():
    step, weight = steps()
    weight.grad = clew.zeros(6)[::2]
    step(clew.full((3,), 0.5))
    assert weight.grad.is_contiguous()
    numpy.testing.assert_allclose(weight.grad.numpy(), gradient(weight, 0.5), rtol=1e-6)


@pytest.mark.records_calls
def test_a_graph_that_saved_it_still_has_its_value():
    step, weight = steps()
    x = clew.tensor([1.0, 1.0, 1.0], requires_grad=True)
    before = weight.grad.numpy().copy()
    product = (x * weight.grad).sum()
    step(clew.full((3,), 0.5))
    product.backward()
    assert numpy.array_equal(x.grad.numpy(), before)


@pytest.mark.records_calls
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


@pytest.mark.records_calls
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


@pytest.mark.records_calls
def test_a_write_to_a_gradient_that_is_replaced_is_counted():
    x = clew.tensor([1.0, 2.0], requires_grad=True)
    x.grad = clew.ones(2)

    @clew.compile
    def step(x):
        before = x.grad
        x.grad = x.detach() * 2
        before.mul_(3)

    for i in range(4):
        before = x.grad
        version, value = before._version, before.tolist()
        step(x)
        assert before._version == version + 1, i
        assert before.tolist() == [3 * v for v in value], i
        assert x.grad.tolist() == [2.0, 4.0], i
    assert step.hits == 3


@pytest.mark.parametrize("kind", [pytest.param("compiled", marks=pytest.mark.records_calls), "eager"])
def test_gradients_change_hands(kind):
    v, w = (clew.tensor([1.0, 2.0], requires_grad=True) for _ in "vw")
    v.grad, w.grad = clew.tensor([1.0, 2.0]), clew.tensor([3.0, 4.0])

    def step(x):
        v.grad = w.grad
        w.grad = x * 2

    step = clew.compile(step) if kind == "compiled" else step
    for i in range(4):
        before = w.grad
        value = before.tolist()
        step(clew.full((2,), float(i)))
        assert v.grad is before, i
        assert v.grad.tolist() == value, i
        assert w.grad.tolist() == [2.0 * i] * 2, i
    assert kind == "eager" or step.hits == 3


@pytest.mark.parametrize(
    "keeps", [pytest.param(False, marks=pytest.mark.records_calls), True], ids=["compiled", "kept"]
)
def test_a_gradient_that_is_added_to_and_then_replaced(keeps):
    """One backward adds in place, one makes a new gradient. Scattering runs as it is, so the first is a copy."""

    def accumulate(x):
        smallest = x.kthvalue(1, 0, True)[0]
        x.sum().backward(retain_graph=True)
        smallest.sum().backward(create_graph=True)

    values = [[0.7, -2.0, -0.2], [-1.1, 0.3, 1.2]]
    ours, expected = (clew.tensor(values, requires_grad=True) for _ in "oe")
    step, program = clew.compile(accumulate), None
    for i in range(8):
        if not keeps or i == 0:
            (accumulate if keeps else step)(ours)
        elif program is None:
            with clew.keep_graph() as program:
                accumulate(ours)
        else:
            program.run()
        accumulate(expected)
        assert ours.grad.tolist() == expected.grad.tolist(), i
    assert keeps or step.hits == 6


def hands_on(v, w, c):
    v.grad = w.grad
    w.grad = c * 2


def hands_on_a_view(v, w, c):
    before = w.grad
    w.grad = c * 2
    v.grad = before.view(2)


def keeps_a_view(v, w, c):
    v.held = w.grad[:]
    w.grad = c * 2


def keeps_a_graph(v, w, c):
    v.held = (v * w.grad).sum()
    w.grad = c * 2


@pytest.mark.parametrize("keep", [hands_on, hands_on_a_view, keeps_a_view, keeps_a_graph])
def test_a_kept_block_may_not_replace_a_gradient_that_stays(keep):
    v, w = (clew.tensor([1.0, 2.0], requires_grad=True) for _ in "vw")
    w.grad = clew.tensor([3.0, 4.0])
    with pytest.raises(clew.KeepError, match=r"keep a clone\(\)"), clew.keep_graph():
        keep(v, w, clew.ones(2))


def gives_a_clone(v, w, c):
    v.grad = w.grad.clone()
    w.grad = c * 2


def uses_it_meanwhile(v, w, c):
    v.grad = w.grad
    v.grad = w.grad * c
    w.grad = c * 2


@pytest.mark.parametrize("step", [gives_a_clone, uses_it_meanwhile])
def test_a_kept_block_may_replace_a_gradient_that_nothing_keeps(step):
    def run(kept):
        v, w = (clew.tensor([1.0, 2.0], requires_grad=True) for _ in "vw")
        w.grad = clew.tensor([3.0, 4.0])
        c, program, found = clew.ones(2), None, []
        for i in range(4):
            c.fill_(i + 1.0)
            if program is None:
                with clew.keep_graph() if kept else contextlib.nullcontext() as program:
                    step(v, w, c)
            else:
                program.run()
            program = program if kept else None
            found.append((v.grad.tolist(), w.grad.tolist()))
        return found

    assert run(kept=True) == run(kept=False)


def test_a_gradient_that_dies_may_run_the_program():
    w = clew.tensor([1.0, 2.0], requires_grad=True)
    w.grad = clew.tensor([3.0, 4.0])
    leaves = [clew.tensor([1.0, 2.0], requires_grad=True) for _ in range(5)]
    runs = []

    class Runs:
        def __del__(self):
            for leaf in leaves[1:]:
                leaf.grad = clew.zeros(2)
            program.run()
            runs.append(1)

    for leaf in leaves:
        leaf.grad = clew.ones(2)
    with clew.keep_graph() as program:
        for leaf in leaves:
            leaf.grad = w.grad
    for i in range(6):
        for leaf in leaves:
            leaf.grad = clew.ones(2)
        if i >= 3:
            leaves[0].grad.note = Runs()
        program.run()
        assert all(leaf.grad is w.grad for leaf in leaves), i
    assert len(runs) == 3


def test_an_input_that_nothing_reaches_must_still_require_a_gradient():
    w, unreached = (clew.tensor([1.0, 2.0], requires_grad=True) for _ in "wu")
    with clew.keep_graph() as program:
        clew.autograd.grad((w * w).sum(), [w, unreached], allow_unused=True)
    program.run()
    unreached.requires_grad_(False)
    with pytest.raises(clew.ReplayError, match=r"`unreached` .* requires_grad is off and was on"):
        program.run()
