"""3.2 A tensor used several times gets the sum of its paths. 3.3 Gradients accumulate in .grad."""

import math

import pytest
from graph_support import assert_close, assert_equal


def test_two_powers(torch):
    x = torch.tensor([3.0], requires_grad=True)
    (x**2 + x**3).backward()
    assert_equal(x.grad, [33])


def test_two_branches(torch):
    x = torch.tensor([2.0], requires_grad=True)
    left, right = 2 * x, 3 * x
    (left + right).backward()
    assert_equal(x.grad, [5])


def test_the_same_tensor_as_both_operands(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    assert_equal(x.grad, [4, 6])
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (m @ m).sum().backward()
    ones = [[1.0, 1.0], [1.0, 1.0]]
    expected = torch.tensor(ones) @ m.detach().T + m.detach().T @ torch.tensor(ones)
    assert_close(m.grad, expected.tolist())


def test_a_diamond_runs_each_node_once(torch):
    x = torch.tensor([1.0], requires_grad=True)
    h = x * 2
    total = h
    for _ in range(10):
        total = total + total
    seen = []
    h.grad_fn.register_hook(lambda *_: seen.append(1))
    total.backward()
    assert seen == [1]
    assert_equal(x.grad, [2 * 2**10])


def test_paths_of_different_length(torch):
    x = torch.tensor([0.5], requires_grad=True)
    long = x
    for _ in range(5):
        long = long.sin()
    (long * x + x).backward()
    value, slope = 0.5, 1.0
    for _ in range(5):
        slope *= math.cos(value)
        value = math.sin(value)
    assert_close(x.grad, [slope * 0.5 + value + 1])


def test_broadcast_gradients_are_summed(torch):
    x = torch.ones(1, 3, requires_grad=True)
    y = torch.ones(4, 1, requires_grad=True)
    s = torch.tensor(2.0, requires_grad=True)
    (x * y * s).sum().backward()
    assert_equal(x.grad, [[8, 8, 8]])
    assert_equal(y.grad, [[6]] * 4)
    assert_equal(s.grad, 12)


def test_an_index_taken_twice(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[[0, 0, 2]].sum().backward()
    assert_equal(x.grad, [2, 0, 1])


def test_the_gradient_is_added_in_place_and_stays_the_same_object(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    gradient = x.grad
    assert x.grad is gradient
    pointer = gradient.data_ptr()
    (x * x).sum().backward()
    assert x.grad is gradient
    assert gradient.data_ptr() == pointer
    assert_equal(gradient, [4, 8])


def test_a_gradient_that_is_a_view_of_a_flat_buffer_fills_it(torch):
    flat = torch.zeros(5)
    x, w = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    x.grad, w.grad = flat[:3], flat[3:]
    for _ in range(2):
        ((x * 2).sum() + (w * 3).sum()).backward()
    assert_equal(flat, [4, 4, 4, 6, 6])
    assert x.grad.data_ptr() == flat.data_ptr()


def test_the_version_of_a_gradient_counts_additions(torch):
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    version = x.grad._version
    (x * 2).sum().backward()
    assert x.grad._version == version + 1


def test_a_first_gradient_is_taken_over_if_nothing_else_holds_it(torch):
    x = torch.ones(1000, requires_grad=True)
    seen = []
    x.register_hook(lambda grad: seen.append(grad.data_ptr()))
    (x * 2).sum().backward()
    assert x.grad.data_ptr() == seen[0]


def test_a_first_gradient_that_someone_holds_is_cloned(torch):
    x = torch.ones(3, requires_grad=True)
    given = torch.tensor([1.0, 2.0, 3.0])
    x.backward(given)
    assert x.grad.data_ptr() != given.data_ptr()
    x.backward(given)
    assert_equal(given, [1, 2, 3])
    assert_equal(x.grad, [2, 4, 6])


def test_one_gradient_for_two_leaves_is_not_shared(torch):
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (x + w).backward(torch.ones(3))
    assert x.grad.data_ptr() != w.grad.data_ptr()
    x.grad.zero_()
    assert_equal(w.grad, [1, 1, 1])


def test_an_expanded_gradient_becomes_real_memory(torch):
    x = torch.ones(2, 3, requires_grad=True)
    x.sum().backward()
    x.grad[0, 0] = 7
    assert_equal(x.grad, [[7, 1, 1], [1, 1, 1]])


def test_retain_grad(torch):
    x = torch.ones(2, requires_grad=True)
    h = x * 3
    assert not h.retains_grad
    h.retain_grad()
    h.retain_grad()
    assert h.retains_grad
    y = (h * h).sum()
    y.backward(retain_graph=True)
    assert_equal(h.grad, [6, 6])
    y.backward()
    assert_equal(h.grad, [12, 12])
    assert_equal(x.grad, [36, 36])
    x.retain_grad()
    assert not x.retains_grad


def test_retain_grad_needs_a_gradient(torch):
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(2).retain_grad()


def test_results_keep_no_gradient_and_reading_it_warns(torch):
    h = torch.ones(2, requires_grad=True) * 3
    h.sum().backward()
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert h.grad is None


def test_under_create_graph_gradients_are_added_out_of_place(torch):
    x = torch.tensor([2.0], requires_grad=True)
    (x**3).backward(create_graph=True)
    first = x.grad
    (x**3).backward(create_graph=True)
    assert x.grad is not first
    assert_equal(first, [12])
    assert_equal(x.grad, [24])
    assert x.grad.requires_grad
    (second,) = torch.autograd.grad(x.grad, x)
    assert_equal(second, [24])
    x.grad = None


def test_assigning_a_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    given = torch.tensor([1.0, 2.0])
    x.grad = given
    assert x.grad is given
    (x * 2).sum().backward()
    assert_equal(given, [3, 4])
    x.grad = None
    assert x.grad is None
    with pytest.raises(RuntimeError, match="size"):
        x.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="type"):
        x.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises((TypeError, RuntimeError)):
        x.grad = [1.0, 2.0]
    with pytest.raises(RuntimeError, match="own grad"):
        x.grad = x
    assert x.grad is None


def test_a_leaf_of_which_only_a_part_was_used(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x[0] * 2).sum().backward()
    assert_equal(x.grad, [[2, 2, 2], [0, 0, 0]])


def test_a_leaf_that_was_not_used_has_none(torch):
    x, w = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    (x * 2).backward()
    assert w.grad is None


def test_a_leaf_frozen_after_the_forward(torch):
    x, w = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y = x * 2 + w * 3
    x.requires_grad_(False)
    y.backward()
    assert_equal(w.grad, [3])
