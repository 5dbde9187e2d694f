"""3.5 Hooks on tensors and on nodes: what they see, what they may replace, their order, and their end."""

import pytest
from graph_support import Token, assert_equal


def test_a_tensor_hook_sees_the_gradient_and_may_replace_it(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    seen = []
    h.register_hook(lambda grad: seen.append(grad.tolist()))
    h.register_hook(lambda grad: grad * 10)
    h.register_hook(lambda grad: seen.append(grad.tolist()))
    (h * torch.tensor([1.0, 2.0])).sum().backward()
    assert seen == [[1, 2], [10, 20]]
    assert_equal(x.grad, [30, 60])


def test_a_tensor_hook_sees_the_sum_of_all_paths_once(torch):
    x = torch.tensor([3.0], requires_grad=True)
    seen = []
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    (x**2 + x**3).backward()
    assert seen == [[33]]


def test_a_hook_on_a_leaf_changes_what_is_accumulated(torch):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 2)
    for times in (1, 2):
        (x * 3).sum().backward()
        assert_equal(x.grad, [6 * times] * 2)


def test_a_tensor_hook_acts_on_grad_too(torch):
    x = torch.ones(2, requires_grad=True)
    h = x * 2
    h.register_hook(lambda grad: grad * 5)
    assert_equal(torch.autograd.grad(h.sum(), h)[0], [5, 5])
    assert_equal(torch.autograd.grad(h.sum(), x)[0], [10, 10])


def everything_hooked(torch, seen):
    """One graph with a hook of each kind, registered in an order that is not theirs to run in."""
    x = torch.tensor([1.0], requires_grad=True)
    h = x * 2
    y = h * 3

    def note(name):
        return lambda *_: seen.append(name)

    end = h.grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(note("x post accumulate"))
    end.register_hook(note("end after"))
    end.register_prehook(note("end before"))
    x.register_hook(note("x tensor"))
    h.grad_fn.register_hook(note("h after"))
    h.grad_fn.register_prehook(note("h before"))
    h.register_hook(note("h tensor 1"))
    h.retain_grad()
    h.register_hook(note("h tensor 2"))
    y.grad_fn.register_hook(note("y after"))
    y.register_hook(note("y tensor"))
    y.grad_fn.register_prehook(note("y before"))
    return x, y


ORDER = [
    "y tensor", "y before", "y after",
    "h tensor 1", "h tensor 2", "h before", "h after",
    "x tensor", "end before", "x post accumulate", "end after",
]  # fmt: skip


def test_the_order_of_all_kinds(torch):
    seen = []
    x, y = everything_hooked(torch, seen)
    y.backward(retain_graph=True)
    assert seen == ORDER
    seen.clear()
    y.backward()
    assert seen == ORDER
    assert_equal(x.grad, [12])


def test_the_order_under_grad(torch):
    seen = []
    x, y = everything_hooked(torch, seen)
    torch.autograd.grad(y, x)
    assert seen == [*ORDER[:7], "x tensor"], "nothing is accumulated; the leaf's own node does not run"


def test_hooks_of_one_kind_run_in_the_order_of_registration(torch):
    seen = []
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    for number in range(4):
        y.register_hook(lambda grad, number=number: seen.append(("tensor", number)))
        y.grad_fn.register_prehook(lambda grads, number=number: seen.append(("before", number)))
        y.grad_fn.register_hook(lambda grads, outputs, number=number: seen.append(("after", number)))
        x.register_post_accumulate_grad_hook(lambda leaf, number=number: seen.append(("post", number)))
    y.backward()
    assert seen == [(kind, number) for kind in ("tensor", "before", "after", "post") for number in range(4)]


def test_retained_gradient_is_what_the_last_tensor_hook_left(torch):
    x = torch.tensor([1.0], requires_grad=True)
    h = x * 2
    h.retain_grad()
    h.register_hook(lambda grad: grad * 7)
    (h * 3).backward()
    assert_equal(h.grad, [21])
    assert_equal(x.grad, [42])


def test_node_hooks_see_and_replace_gradients(torch):
    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([5.0], requires_grad=True)
    y = x * w
    seen = []

    def before(grad_outputs):
        seen.append([grad.tolist() for grad in grad_outputs])
        return (grad_outputs[0] * 10,)

    def after(grad_inputs, grad_outputs):
        seen.append(([grad.tolist() for grad in grad_inputs], [grad.tolist() for grad in grad_outputs]))
        return grad_inputs[0] + 1, grad_inputs[1]

    y.grad_fn.register_prehook(before)
    y.grad_fn.register_hook(after)
    y.backward()
    assert seen == [[[1.0]], ([[50.0], [20.0]], [[10.0]])]
    assert_equal(x.grad, [51])
    assert_equal(w.grad, [20])


def test_node_hooks_see_none_where_no_gradient_is_needed(torch):
    y = torch.ones(2, requires_grad=True) * torch.ones(2)
    seen = []
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append([grad is None for grad in grad_inputs]))
    y.sum().backward()
    assert seen == [[False, True]]


def test_node_hooks_must_return_as_many_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    for register in ("register_prehook", "register_hook"):
        y = x * x
        getattr(y.grad_fn, register)(lambda *grads: (torch.ones(2),) * 3)
        with pytest.raises(RuntimeError, match="got 3, but expected"):
            y.sum().backward()
    assert x.grad is None


def test_post_accumulate_hooks_see_the_finished_gradient(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad.tolist())))
    for _ in range(2):
        (x * 3).sum().backward()
    assert seen == [(True, [3, 3]), (True, [6, 6])]


def test_a_post_accumulate_hook_may_update_and_drop_the_gradient(torch):
    def step(leaf):
        with torch.no_grad():
            leaf -= 0.5 * leaf.grad
        leaf.grad = None

    x = torch.tensor([1.0], requires_grad=True)
    x.register_post_accumulate_grad_hook(step)
    (x * 4).backward()
    assert x.grad is None
    assert_equal(x, [-1])


def test_post_accumulate_hooks_are_for_leaves(torch):
    y = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf tensors"):
        y.register_post_accumulate_grad_hook(Token())


def test_hooks_need_a_gradient(torch):
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(1).register_hook(Token())
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(1).register_post_accumulate_grad_hook(Token())


def test_hooks_follow_the_history_that_the_tensor_had(torch):
    """A hook registered before an in-place operation belongs to the value before it."""
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda grad: seen.append(("old", grad.tolist())))
    y.mul_(5)
    y.register_hook(lambda grad: seen.append(("new", grad.tolist())))
    (y * 3).backward()
    assert seen == [("new", [3.0]), ("old", [15.0])]


def test_retain_grad_follows_the_tensor_through_in_place_operations(torch):
    y = torch.tensor([1.0], requires_grad=True) * 2
    y.retain_grad()
    y.mul_(5)
    (y * 3).backward()
    assert_equal(y.grad, [3])


def test_hooks_under_create_graph_are_recorded(torch):
    x = torch.tensor([3.0], requires_grad=True)
    h = x * x
    modes = []
    h.register_hook(lambda grad: modes.append((torch.is_grad_enabled(), grad.requires_grad)) or grad * x)
    (h * h).backward(create_graph=True)
    assert modes == [(True, True)]
    assert_equal(x.grad, [4 * 81])  # 2h, times x by the hook, times 2x
    (second,) = torch.autograd.grad(x.grad, x)
    # 2h * x * 2x again: by x itself 8 h x; by way of h, where the hook runs again, 4 x^2 times x times 2x
    assert_equal(second, [8 * 27 + 8 * 81])
    x.grad = None


def test_hooks_of_a_plain_backward_record_nothing(torch):
    x = torch.tensor([3.0], requires_grad=True)
    y = x * x
    modes = []
    y.register_hook(lambda grad: modes.append((torch.is_grad_enabled(), (grad * x).requires_grad)))
    y.backward()
    assert modes == [(False, False)]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (lambda torch: torch.ones(3), RuntimeError, "size"),
        (lambda torch: 5, TypeError, "but hook returned 'int'"),
        (lambda torch: "x", TypeError, "but hook returned 'str'"),
    ],
)
def test_what_a_tensor_hook_may_return(torch, value, error, message):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: value(torch))
    with pytest.raises(error, match=message):
        y.sum().backward()
    assert x.grad is None


def test_a_hook_that_was_added_in_a_hook(torch):
    x = torch.tensor([1.0], requires_grad=True)
    h = x * 2
    seen = []
    y = h * 3
    y.register_hook(lambda grad: h.register_hook(lambda inner: seen.append(inner.tolist())) and None)
    y.backward()
    assert seen == [[3.0]]
