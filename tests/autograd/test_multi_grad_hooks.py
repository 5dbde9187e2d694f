"""3.5 register_multi_grad_hook: one hook for several tensors."""

import pytest
from graph_support import Token


def leaves(torch):
    return [torch.tensor([float(value)], requires_grad=True) for value in (1, 2, 3)]


def shown(gradients):
    return [None if gradient is None else gradient.tolist() for gradient in gradients]


def test_all_waits_for_every_gradient(torch):
    a, b, c = leaves(torch)
    seen = []
    torch.autograd.graph.register_multi_grad_hook((a, b, c), lambda grads: seen.append(shown(grads)))
    (a * b + b * c).backward()
    assert seen == [[[2.0], [4.0], [2.0]]]


def test_all_gives_none_for_tensors_outside_the_graph(torch):
    a, b, c = leaves(torch)
    seen = []
    torch.autograd.graph.register_multi_grad_hook((a, b, c), lambda grads: seen.append(shown(grads)))
    (a * c).backward()
    assert seen == [[[3.0], None, [1.0]]]
    (b * 5).backward()
    assert seen[1:] == [[None, [5.0], None]]


def test_all_runs_once_in_each_backward(torch):
    a, b, _ = leaves(torch)
    seen = []
    torch.autograd.graph.register_multi_grad_hook([a, b], lambda grads: seen.append(shown(grads)))
    for _ in range(3):
        (a * b).backward()
    assert seen == [[[2.0], [1.0]]] * 3


def test_any_runs_for_the_first_gradient(torch):
    a, b, _ = leaves(torch)
    h = a * 2
    seen = []
    torch.autograd.graph.register_multi_grad_hook((a, h), lambda grad: seen.append(grad.tolist()), mode="any")
    (h * b).backward()
    assert seen == [[2.0]], "the result's gradient is there before the leaf's"


def test_multi_grad_hooks_on_intermediates(torch):
    a, b, _ = leaves(torch)
    h, k = a * 2, b * 3
    seen = []
    torch.autograd.graph.register_multi_grad_hook((h, k), lambda grads: seen.append(shown(grads)))
    (h * k).backward()
    assert seen == [[[6.0], [2.0]]]


def test_multi_grad_hooks_are_removable(torch):
    a, b, _ = leaves(torch)
    seen = []
    handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append(1))
    (a * b).backward()
    handle.remove()
    (a * b).backward()
    assert seen == [1]
    with torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append(2)):
        (a * b).backward()
    (a * b).backward()
    assert seen == [1, 2]


def test_modes_are_all_and_any(torch):
    a, b, _ = leaves(torch)
    with pytest.raises(ValueError, match="mode"):
        torch.autograd.graph.register_multi_grad_hook((a, b), Token(), mode="some")
