"""A backward node by node does what a backward does, and shows each gradient on its way."""

import pytest

import clew
from clew import nn

pytestmark = [pytest.mark.beyond, pytest.mark.usefixtures("no_leak")]


def loss_and_leaves():
    clew.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    x = clew.randn(5, 4, requires_grad=True)
    return (model(x) ** 2).mean(), [x, *model.parameters()]


def test_it_does_what_backward_does():
    loss, leaves = loss_and_leaves()
    loss.backward()
    expected = [leaf.grad for leaf in leaves]
    again, others = loss_and_leaves()
    steps = list(clew.graph.step(again))
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert {step.node for step in steps} == set(clew.graph.walk([again.grad_fn]))
    for one, other in zip(expected, others, strict=True):
        assert clew.equal(one, other.grad)
    assert again.grad_fn.next_functions[0][0].released is not None
    with pytest.raises(RuntimeError, match="second time"):
        again.backward()


def test_each_gradient_on_its_way():
    x = clew.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    steps = list(clew.graph.step(y.exp().sum()))
    names = [type(step.node).__name__ for step in steps]
    assert names == ["SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"]
    weights = clew.tensor([1.0, 4.0]).exp()
    assert steps[1].incoming[0].tolist() == [1, 1]
    assert clew.allclose(steps[1].outgoing[0], weights)
    assert clew.allclose(steps[2].outgoing[0] + steps[2].outgoing[1], weights * 2 * clew.tensor([1.0, 2.0]))
    assert clew.equal(steps[3].incoming[0], x.grad)
    assert steps[2].made_at.source == "y = x * x"
    assert "MulBackward0: (2,) norm" in str(steps[2])


def test_a_gradient_that_is_given():
    x = clew.ones(2, requires_grad=True)
    steps = clew.graph.step([x * 2, x * 3], [clew.ones(2), clew.ones(2)])
    assert sum(1 for _ in steps) == 3
    assert x.grad.tolist() == [5, 5]


def test_what_is_not_run_is_not_freed():
    x = clew.ones(2, requires_grad=True)
    y = x.exp()
    steps = clew.graph.step(y.sin().sum())
    next(steps)
    next(steps)
    del steps
    y.sum().backward()
    assert clew.allclose(x.grad, clew.ones(2).exp())


def test_hooks_and_other_backwards_between_the_steps():
    x = clew.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda gradient: gradient * 10)
    shared = x * 5
    for _ in clew.graph.step(y.sum(), retain_graph=True):
        shared.sum().backward(retain_graph=True)
        y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [30 + 3 * (5 + 30)] * 2


def test_create_graph():
    x = clew.tensor([2.0], requires_grad=True)
    for _ in clew.graph.step((x**3).sum(), create_graph=True):
        pass
    (second,) = clew.autograd.grad(x.grad.sum(), x)
    assert second.item() == 12
    x.grad = None


def test_modes_are_the_users_between_the_steps():
    x = clew.ones(2, requires_grad=True)
    for _ in clew.graph.step((x * x).sum()):
        assert clew.is_grad_enabled()
        assert (x * 2).grad_fn is not None


def test_wrong_use_is_refused_before_the_first_step():
    x = clew.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="step: expected a tensor or a sequence of tensors, got str"):
        clew.graph.step("loss")
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        clew.graph.step(x * 2)
    with pytest.raises(RuntimeError, match="does not require grad"):
        clew.graph.step(clew.ones(1))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        clew.graph.step(x * 2, clew.ones(3))


def test_a_failing_rule_ends_it():
    x = clew.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(clew.autograd.errors.GraphFreedError, match="second time"):
        list(clew.graph.step(y))
    assert clew.is_grad_enabled()
