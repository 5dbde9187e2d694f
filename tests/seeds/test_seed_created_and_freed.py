"""The thread "How Computation Graph in PyTorch is created and freed?"."""

import weakref

import pytest


class Token:
    def __call__(self, *arguments):
        return None


def test_each_iteration_makes_a_new_graph(torch):
    a = torch.randn(2, 3, requires_grad=True)
    nodes = []
    for _ in range(100):
        y = torch.sum(a)
        y.backward()
        nodes.append(y.grad_fn)
    assert len({id(node) for node in nodes}) == 100
    assert torch.equal(a.grad, torch.full((2, 3), 100.0))


def test_the_previous_graph_is_freed_by_the_scope_of_its_variable(torch):
    """ "The operation that frees up the graph is variable scoping in python." """
    a = torch.randn(2, 3, requires_grad=True)
    tokens = []
    for _ in range(100):
        y = torch.sum(a)
        token = Token()
        y.grad_fn.register_hook(token)
        tokens.append(weakref.ref(token))
        del token
        y.backward()
        assert sum(reference() is not None for reference in tokens) == 1
    del y
    assert not any(reference() is not None for reference in tokens)


def test_retain_graph_in_the_loop_keeps_only_the_last_graph(torch):
    """ "I think only the last graph exist after the loop." """
    a = torch.randn(2, 3, requires_grad=True)
    tokens = []
    for _ in range(100):
        y = torch.sum(a)
        token = Token()
        y.grad_fn.register_hook(token)
        tokens.append(weakref.ref(token))
        del token
        y.backward(retain_graph=True)
    assert [reference() is not None for reference in tokens] == [False] * 99 + [True]
    assert y.requires_grad


def test_a_static_graph_with_data_assigned(torch):
    """ "Can I treat it as a static computation graph?" "No you cannot": y keeps the value of its own forward.

    A graph that saved nothing can at least be run backward again.
    """
    a = torch.ones(2, 3, requires_grad=True)
    y = torch.sum(a)
    for _ in range(100):
        a.data = torch.randn(2, 3)  # Only modify its data
        y.backward()
    assert y.item() == 6.0
    assert torch.equal(a.grad, torch.full((2, 3), 100.0))


def residual(A, b, u):
    r = A @ u - b
    return (r**2).sum()


def count_nodes(tensor):
    seen, queue = set(), [tensor.grad_fn]
    while queue:
        node = queue.pop()
        if node is not None and node not in seen:
            seen.add(node)
            queue.extend(below for below, _ in node.next_functions)
    return len(seen)


def test_a_graph_grows_only_if_the_loop_feeds_it_back(torch):
    """ "The computational graph is expanding on each iteration": yes, if what is updated carries its graph along."""
    A = torch.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
    input_b = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([0.1, 0.2], requires_grad=True)

    sizes = []
    for _ in range(5):
        f_eval = residual(A, input_b, y)
        f_eval.backward(retain_graph=True)
        sizes.append(count_nodes(f_eval))
    assert len(set(sizes)) == 1

    sizes = []
    u = y
    for _ in range(5):
        f_eval = residual(A, input_b, u)
        (step,) = torch.autograd.grad(f_eval, u, create_graph=True)
        u = u - 0.1 * step
        sizes.append(count_nodes(f_eval))
    assert sizes == sorted(set(sizes)), "each iteration's graph holds the one before"

    sizes = []
    u = y.detach().requires_grad_()
    for _ in range(5):
        f_eval = residual(A, input_b, u)
        (step,) = torch.autograd.grad(f_eval, u)
        u = (u - 0.1 * step).detach().requires_grad_()
        sizes.append(count_nodes(f_eval))
    assert len(set(sizes)) == 1, "detached, it does not grow"


def test_the_loss_of_that_loop_falls(torch):
    A = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
    b = torch.tensor([1.0, 2.0])
    u = torch.zeros(2, requires_grad=True)
    values = []
    for _ in range(5):
        f_eval = residual(A, b, u)
        f_eval.backward()
        with torch.no_grad():
            u -= 0.05 * u.grad
            u.grad.zero_()
        values.append(f_eval.item())
    assert values[0] == 5.0
    assert values == sorted(values, reverse=True)


def test_dynamic_graphs_may_differ_at_each_step(torch):
    x = torch.tensor([2.0], requires_grad=True)
    for times, expected in ((1, 1.0), (2, 4.0), (3, 12.0)):
        x.grad = None
        y = x
        for _ in range(times - 1):
            y = y * x
        y.backward()
        assert x.grad.item() == pytest.approx(expected)
