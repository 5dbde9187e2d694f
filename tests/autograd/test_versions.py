"""4.1 _version counts in-place writes. 4.2 Leaves that require a gradient. 4.3 Writing to what was saved."""

import pytest
from graph_support import MODIFIED, assert_equal

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation"

WRITES = {
    "add_": lambda torch, x: x.add_(1),
    "+=": lambda torch, x: x.__iadd__(1),
    "*=": lambda torch, x: x.__imul__(2),
    "fill_": lambda torch, x: x.fill_(3),
    "zero_": lambda torch, x: x.zero_(),
    "copy_": lambda torch, x: x.copy_(torch.ones(3)),
    "clamp_": lambda torch, x: x.clamp_(0, 1),
    "exp_": lambda torch, x: x.exp_(),
    "x[0] = 1": lambda torch, x: x.__setitem__(0, 1.0),
    "x[1:] = 1": lambda torch, x: x.__setitem__(slice(1, None), 1.0),
    "x[mask] = 1": lambda torch, x: x.__setitem__(x > 1, 1.0),
    "out=": lambda torch, x: torch.add(torch.ones(3), 1, out=x),
    "masked_fill_": lambda torch, x: x.masked_fill_(x > 1, 0),
    "normal_": lambda torch, x: x.normal_(),
    "uniform_": lambda torch, x: x.uniform_(),
    "no_grad": lambda torch, x: torch.no_grad()(lambda: x.add_(1))(),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_counts_once(torch, name):
    x = torch.tensor([0.5, 1.5, 2.5])
    assert x._version == 0
    WRITES[name](torch, x)
    assert x._version == 1
    WRITES[name](torch, x)
    assert x._version == 2


def test_reading_does_not_count(torch):
    x = torch.ones(3)
    (x + 1, x[0], x.view(3, 1), x.clone(), x.tolist(), x.numpy(), repr(x), x.sum(), x.detach(), x.exp())
    assert x._version == 0


def test_views_detach_and_base_share_one_counter(torch):
    base = torch.zeros(2, 3)
    relatives = [base[0], base.t(), base.view(6)[2:], base.detach(), base[:, 1].detach(), base.unsqueeze(0)]
    for number, relative in enumerate(relatives, start=1):
        relative.add_(1)
        assert base._version == number
        assert {other._version for other in relatives} == {number}
    base.mul_(2)
    assert {other._version for other in relatives} == {len(relatives) + 1}


def test_copies_and_data_have_their_own_counter(torch):
    base = torch.zeros(3)
    others = [base.clone(), base + 0, base.data]
    base.add_(1)
    assert [other._version for other in others] == [0, 0, 0]
    others[2].add_(1)
    assert base._version == 1
    assert base.tolist() == [2, 2, 2]


def test_base_and_is_view(torch):
    base = torch.zeros(4, requires_grad=True) * 1
    view = base[1:]
    assert view._base is base
    assert view[1:]._base is base
    assert base._base is None


def test_writing_to_a_leaf_is_an_error(torch):
    x = torch.tensor([0.5, 1.5, 2.5], requires_grad=True)
    for name in ("add_", "+=", "*=", "fill_", "zero_", "copy_", "clamp_", "exp_", "masked_fill_"):
        with pytest.raises(RuntimeError, match=LEAF):
            WRITES[name](torch, x)
    assert_equal(x, [0.5, 1.5, 2.5])
    assert x._version == 0
    assert x.is_leaf


def test_writing_to_a_view_of_a_leaf_is_an_error(torch):
    x = torch.tensor([0.5, 1.5, 2.5], requires_grad=True)
    for view in (x[0], x[1:], x.view(3, 1), x.view(3, 1)[0]):
        with pytest.raises(RuntimeError, match=VIEW_OF_LEAF):
            view.add_(1)
    for name in ("x[0] = 1", "x[1:] = 1"):
        with pytest.raises(RuntimeError, match=VIEW_OF_LEAF):
            WRITES[name](torch, x)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[x > 1] = 0.0
    assert_equal(x, [0.5, 1.5, 2.5])
    assert x._version == 0


def test_the_example_of_the_tutorial(torch):
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match=LEAF):
        x += 1
    assert_equal(x, [1])
    y.sum().backward()
    assert_equal(x.grad, [2])
    with torch.no_grad():
        x += 1
    assert_equal(x, [2])
    assert (x.is_leaf, x.requires_grad, x._version) == (True, True, 1)
    (x * x).backward()
    assert_equal(x.grad, [6])


def test_a_leaf_without_gradient_may_be_written(torch):
    x = torch.ones(3)
    y = x * torch.ones(3, requires_grad=True) + x
    x[1:].add_(1)
    assert y.requires_grad
    assert_equal(x, [1, 2, 2])


def test_out_and_gradients_do_not_go_together(torch):
    x = torch.ones(3, requires_grad=True)
    for arguments in ((x, 1, torch.zeros(3)), (torch.ones(3), 1, x)):
        with pytest.raises(RuntimeError, match=r"out=.*don't support automatic differentiation"):
            torch.add(arguments[0], arguments[1], out=arguments[2])
    assert_equal(x, [1, 1, 1])
    with torch.no_grad():
        torch.add(torch.ones(3), 1, out=x)
    assert_equal(x, [2, 2, 2])


def test_writing_to_what_a_node_saved(torch):
    h = torch.tensor([1.0, 2.0], requires_grad=True) * 1
    y = (h**2).sum()
    h.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED) as caught:
        y.backward()
    assert "is at version 1; expected version 0 instead" in str(caught.value)


def test_the_versions_are_told(torch):
    h = torch.ones(2, requires_grad=True) * 1
    h.add_(1)
    h.add_(1)
    y = (h**2).sum()
    for _ in range(3):
        h.add_(1)
    with pytest.raises(RuntimeError, match="is at version 5; expected version 2 instead"):
        y.backward()


@pytest.mark.parametrize(
    "write",
    [
        lambda torch, h: h.add_(1),
        lambda torch, h: h[:1].mul_(2),
        lambda torch, h: h.detach().zero_(),
        lambda torch, h: h.__setitem__(0, 5.0),
        lambda torch, h: torch.no_grad()(lambda: h.add_(1))(),
        lambda torch, h: h.view(2, 1).t().add_(1),
    ],
)
def test_whoever_writes(torch, write):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    y = (h**2).sum()
    write(torch, h)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
    assert x.grad is None


def test_writing_to_a_saved_output(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y += 1
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
    y = x.exp() + 0
    y += 1
    y.sum().backward()


def test_writing_to_an_operand_that_was_not_saved(torch):
    itself = torch.ones(3, requires_grad=True) * 1
    other = torch.full((3,), 2.0)
    y = (itself * other).sum()
    itself += 100
    y.backward()
    y = (itself * other).sum()
    other += 1
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_writing_before_the_save_is_fine(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    h.mul_(3)
    (h**2).sum().backward()
    assert_equal(x.grad, [18, 36])


def test_an_optimizer_step_between_forward_and_backward(torch):
    w = torch.tensor([2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    loss = w * w
    w.grad = torch.ones(1)
    optimizer.step()
    assert_equal(w, [1.5])
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward()


def test_reading_a_saved_tensor_that_was_modified(torch):
    h = torch.ones(2, requires_grad=True) * 1
    y = h**2
    h.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.grad_fn._saved_self  # noqa: B018


def test_nothing_ran_below_the_node_that_failed(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    y = (h**2).sum()
    ran = []
    h.grad_fn.register_hook(lambda *_: ran.append(1))
    h.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()
    assert ran == []
