"""2.6 retain_graph keeps what was saved; create_graph records the backward, and retains by default."""

import pytest
from graph_support import SECOND_TIME, assert_close, assert_equal


def test_retain_graph_keeps_what_was_saved(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**3).sum()
    for times in (1, 2, 3):
        y.backward(retain_graph=True)
        assert_close(x.grad, [times * 3, times * 12])
    assert y.grad_fn.next_functions[0][0]._saved_self is x


def test_the_last_backward_may_free(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert_close(x.grad, [4, 8])
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        y.backward(retain_graph=True)


@pytest.mark.parametrize("reset", ["zero", "none"])
def test_gradients_add_up_until_reset(torch, reset):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        (x**2).sum().backward()
    assert_close(x.grad, [4, 8])
    if reset == "zero":
        x.grad.zero_()
    else:
        x.grad = None
    (x**2).sum().backward()
    assert_close(x.grad, [2, 4])


def test_create_graph_records_the_backward(torch):
    x = torch.tensor([2.0], requires_grad=True)
    y = x**3
    y.backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    assert first.grad_fn is not None
    assert_close(first, [12])
    x.grad = None
    first.backward()
    assert_close(x.grad, [12])
    x.grad = None


def test_without_create_graph_nothing_is_recorded(torch):
    x = torch.tensor([2.0], requires_grad=True)
    (x**3).backward()
    assert (x.grad.requires_grad, x.grad.grad_fn, x.grad.is_leaf) == (False, None, True)
    (grad,) = torch.autograd.grad(x**3, x)
    assert not grad.requires_grad


def test_create_graph_retains_by_default(torch):
    x = torch.tensor([2.0], requires_grad=True)
    y = x**3
    torch.autograd.grad(y, x, create_graph=True)
    (again,) = torch.autograd.grad(y, x)
    assert_close(again, [12])
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        torch.autograd.grad(y, x)


def test_create_graph_without_retaining_frees(torch):
    x = torch.tensor([2.0], requires_grad=True)
    y = x**3
    (grad,) = torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match=f"^{SECOND_TIME}"):
        torch.autograd.grad(y, x)
    (second,) = torch.autograd.grad(grad, x)
    assert_close(second, [12])


def test_gradients_under_create_graph_depend_on_the_gradient_given(torch):
    x = torch.tensor([3.0], requires_grad=True)
    v = torch.tensor([1.0], requires_grad=True)
    (grad,) = torch.autograd.grad(x**2, x, grad_outputs=v, create_graph=True)
    (by_v,) = torch.autograd.grad(grad, v)
    assert_equal(by_v, [6])


@pytest.mark.beyond
def test_create_graph_does_not_warn(torch, recwarn):
    x = torch.tensor([2.0], requires_grad=True)
    (x**3).backward(create_graph=True)
    assert not recwarn.list, "PyTorch warns of a reference cycle that clew does not make"
