"""4.4 In-place on a view rewrites the history of the base; assignments are differentiable."""

import numpy
import pytest
from graph_support import assert_close, assert_equal
from in_place_programs import PROGRAMS


def test_nodes_of_a_view_that_was_written(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    before = y.grad_fn
    view, other = y[0], y[:, 1:]
    view.mul_(2)
    assert y.grad_fn.name().endswith("CopySlices")
    assert y.grad_fn.next_functions[0][0] is before
    assert view.grad_fn.name() == "AsStridedBackward0"
    assert view.grad_fn.next_functions[0][0] is y.grad_fn
    assert other.grad_fn.name() == "AsStridedBackward0", "views that were taken before follow"
    assert other.grad_fn.next_functions[0][0] is y.grad_fn


def test_views_see_the_write_and_its_gradient(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    view, other = y[0], y[:, 1:]
    view.mul_(10)
    assert_equal(other, [[10, 20], [4, 5]])
    other.sum().backward()
    assert_equal(x.grad, [[0, 10, 10], [0, 1, 1]])


def outcome(torch, name):
    generator = numpy.random.default_rng(3)
    numbers = [generator.uniform(0.2, 0.9, size=shape).tolist() for shape in ((3, 4), (4,))]
    x, v = (torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in numbers)
    result = PROGRAMS[name](torch, x, v)
    weights = torch.arange(1.0, result.numel() + 1).reshape(tuple(result.shape)).to(torch.float64)
    first = torch.autograd.grad((result * weights).sum(), [x, v], create_graph=True, materialize_grads=True)
    total = sum((part * part).sum() for part in first)
    second = [torch.zeros_like(x), torch.zeros_like(v)]
    if total.requires_grad:
        second = torch.autograd.grad(total, [x, v], materialize_grads=True)
    return [numpy.array(tensor.tolist()) for tensor in (result, *first, *second)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives_of_two_orders(torch, oracle, name):
    for ours, theirs in zip(outcome(torch, name), outcome(oracle, name), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradcheck(torch, name):
    generator = numpy.random.default_rng(3)
    x, v = (
        torch.tensor(generator.uniform(0.2, 0.9, size=shape).tolist(), dtype=torch.float64, requires_grad=True)
        for shape in ((3, 4), (4,))
    )
    assert torch.autograd.gradcheck(lambda *inputs: PROGRAMS[name](torch, *inputs), (x, v))


def test_a_base_without_history_gets_one(torch):
    base, w = torch.zeros(3), torch.tensor([2.0], requires_grad=True)
    base[1:2] = w
    assert (base.requires_grad, base.is_leaf) == (True, False)
    assert base.grad_fn.name().endswith("CopySlices")
    (base * 5).sum().backward()
    assert_equal(w.grad, [5])
    base, other = torch.zeros(3), torch.ones(3)
    base += w
    assert base.requires_grad
    base.mul_(other)
    assert base.grad_fn.name() == "MulBackward0"


def test_names_after_writing_the_whole(torch):
    y = torch.ones(3, requires_grad=True).clone()
    y.mul_(2)
    assert y.grad_fn.name() == "MulBackward0"
    y.exp_()
    assert y.grad_fn.name() == "ExpBackward0"
    y[torch.tensor([True, False, True])] = 5.0
    assert y.grad_fn.name() == "IndexPutBackward0"
    y[[0, 1]] = 5.0
    assert y.grad_fn.name() == "IndexPutBackward0"


def test_an_overwritten_history_is_gone(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.zero_()
    y += torch.ones(3)
    y.sum().backward()
    assert x.grad is None or x.grad.tolist() == [0, 0, 0]


def test_written_under_no_grad_keeps_the_old_history(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    node = y.grad_fn
    with torch.no_grad():
        y[0] = 100.0
    assert y.grad_fn is node
    y.sum().backward()
    assert_equal(x.grad, [2, 2, 2])


def test_views_of_several_outputs_are_not_written(torch):
    for take in (lambda y: y.unbind(), lambda y: y.split(1), lambda y: y.chunk(3)):
        y = torch.ones(3, requires_grad=True) * 1
        first = take(y)[0]
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            first.mul_(2)
        assert_equal(y, [1, 1, 1])
        assert y._version == 0


def test_a_view_made_under_no_grad_is_not_written_with_grad(torch):
    y = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        view = y[:1]
    with pytest.raises(RuntimeError, match=r"view .*created in no_grad mode and is being modified inplace"):
        view.mul_(2)
    assert_equal(y, [1, 1, 1])


def test_memory_that_is_shared_by_elements_is_not_written(torch):
    y = torch.ones(1).expand(3)
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"
    ):
        y.add_(1)
    assert_equal(y, [1, 1, 1])


def test_in_place_changes_of_shape(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = x * 1
    y.unsqueeze_(0)
    assert tuple(y.shape) == (1, 2, 3)
    y.squeeze_(0)
    y.t_()
    assert tuple(y.shape) == (3, 2)
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert_close(x.grad, [[0, 2, 4], [1, 3, 5]])
