"""3.6 Hooks on what is saved: pack, unpack, offload, forbid, and allow mutation."""

import pytest
from graph_support import MODIFIED, assert_close, assert_equal


def leaf(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True)


def hooks(torch, seen, name=""):
    def pack(tensor):
        seen.append("pack" + name)
        return tensor

    def unpack(packed):
        seen.append("unpack" + name)
        return packed

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def test_pack_runs_when_saved_and_unpack_when_needed(torch):
    x, seen = leaf(torch), []
    with hooks(torch, seen):
        y = x * x
        assert seen == ["pack", "pack"]
        z = (x + x).sum()
        assert seen == ["pack", "pack"], "nothing is saved"
    y.sum().backward()
    assert seen == ["pack", "pack", "unpack", "unpack"]
    assert_equal(x.grad, [2, 4])
    assert z.requires_grad


def test_what_unpack_gives_is_used(torch):
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach() * 10, lambda packed: packed):
        y = x * x
    y.sum().backward()
    assert_equal(x.grad, [20, 40])


def test_pack_may_return_anything(torch):
    x = leaf(torch)
    shelf = []

    def pack(tensor):
        shelf.append(tensor.detach().numpy().copy())
        return len(shelf) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda number: torch.from_numpy(shelf[number])):
        y = (x**2).exp().sum()
    y.backward()
    assert_close(x.grad, (2 * x * (x**2).exp()).tolist())
    assert len(shelf) == 2


def test_outputs_and_inputs_reach_pack_with_their_history(torch):
    x = leaf(torch)
    seen = []

    def pack(tensor):
        seen.append((tensor.requires_grad, None if tensor.grad_fn is None else tensor.grad_fn.name()))
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        h = x * 2
        y = h.exp()
        z = h * h
    assert seen[-3:] == [(True, "ExpBackward0"), (True, "MulBackward0"), (True, "MulBackward0")]
    assert y.requires_grad
    assert z.requires_grad


def test_pack_runs_without_recording(torch):
    x = leaf(torch)
    modes = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: modes.append(torch.is_grad_enabled()) or tensor, lambda packed: packed
    ):
        y = x * x
    y.sum().backward()
    assert modes == [False, False]


def test_the_innermost_hooks_win(torch):
    x, seen = leaf(torch), []
    with hooks(torch, seen, " outer"), hooks(torch, seen, " inner"):
        y = x**2
    with hooks(torch, seen, " outer"):
        z = x**2
    (y + z).sum().backward()
    assert sorted(seen) == ["pack inner", "pack outer", "unpack inner", "unpack outer"]


def test_each_backward_unpacks(torch):
    x, seen = leaf(torch), []
    with hooks(torch, seen):
        y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert seen == ["pack", "unpack", "unpack"]
    assert_equal(x.grad, [4, 8])


def test_reading_a_saved_attribute_unpacks(torch):
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach() * 3, lambda packed: packed):
        y = x**2
    assert_equal(y.grad_fn._saved_self, [3, 6])


def test_higher_orders_go_through_the_hooks(torch):
    x, seen = leaf(torch), []
    with hooks(torch, seen):
        y = (x**3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert_close(first, [3, 12])
    assert_close(second, [6, 12])
    assert seen.count("pack") == 1


def test_unpack_must_give_a_tensor(torch):
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: 5, lambda packed: packed):
        y = x**2
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.sum().backward()
    assert x.grad is None


def test_pack_must_not_write_to_its_input(torch):
    x = leaf(torch)
    h = x * 1
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.mul_(2), lambda packed: packed),
        pytest.raises(RuntimeError, match="pack hook is modifying its input in place"),
    ):
        h * h


@pytest.mark.parametrize("where", ["pack", "unpack"])
def test_an_exception_in_a_hook_comes_through(torch, where):
    def fail(_):
        raise KeyError("mine")

    def same(value):
        return value

    x = leaf(torch)
    with (
        pytest.raises(KeyError, match="mine"),
        torch.autograd.graph.saved_tensors_hooks(*((fail, same) if where == "pack" else (same, fail))),
    ):
        (x**2).sum().backward()
    assert x.grad is None
    (x**2).sum().backward()
    assert_equal(x.grad, [2, 4])


def test_hooks_do_not_change_that_in_place_writes_are_found(torch):
    """What was packed was copied: a write to the original does no harm, as the packed value is what is used."""
    x = leaf(torch)
    h = x * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.detach().clone(), lambda packed: packed):
        y = (h**2).sum()
    h.mul_(100)
    (gradient,) = torch.autograd.grad(y, x)
    assert_equal(gradient, [2, 4])


def test_save_on_cpu(torch):
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu():
        y = (x.exp() * x).sum()
    y.backward()
    value = x.detach().exp()
    assert_close(x.grad, (value * x.detach() + value).tolist())


def test_hooks_can_be_disabled(torch):
    x, seen = leaf(torch), []
    with (
        torch.autograd.graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        hooks(torch, seen),
    ):
        pass
    with hooks(torch, seen):
        x * x
    assert seen == ["pack", "pack"]


def test_allow_mutation_on_saved_tensors(torch):
    x = leaf(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        h = x.clone()
        y = (h**2).sum()
        h.mul_(10)
        y.backward()
    assert_equal(x.grad, [2, 4])
    assert_equal(h, [10, 20])


def test_mutation_is_refused_outside(torch):
    x = leaf(torch)
    h = x.clone()
    y = (h**2).sum()
    h.mul_(10)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.backward()


def test_hooks_see_what_a_function_saves(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    x, seen = leaf(torch), []
    with hooks(torch, seen):
        y = Square.apply(x).sum()
    y.backward()
    assert seen == ["pack", "unpack"]
    assert_equal(x.grad, [2, 4])
