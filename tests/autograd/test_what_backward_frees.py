"""2.2 backward() drops what was saved; nodes and edges stay while a result is held.
2.3 Freed means that the graph no longer refers to it."""

import weakref

import pytest
from graph_support import Token, assert_equal, collector_off, live_bytes, nodes_alive, nodes_of


class Packed(Token):
    """Stands for a saved tensor, so that its end can be watched."""

    def __init__(self, tensor):
        self.tensor = tensor


def graph_with_watched_saves(torch, make):
    watched = []

    def pack(tensor):
        packed = Packed(tensor)
        watched.append(weakref.ref(packed))
        return packed

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed.tensor):
        result = make()
    return result, watched


def how_many_live(watched):
    return [reference() is not None for reference in watched].count(True)


def test_backward_drops_what_was_saved(torch):
    x = torch.ones(3, requires_grad=True)
    with collector_off():
        y, watched = graph_with_watched_saves(torch, lambda: (x**2).exp().sum())
        assert how_many_live(watched) == len(watched) == 2
        y.backward()
        assert how_many_live(watched) == 0
    assert y.grad_fn is not None


def test_grad_drops_what_was_saved_too(torch):
    x = torch.ones(3, requires_grad=True)
    with collector_off():
        y, watched = graph_with_watched_saves(torch, lambda: (x**2).exp().sum())
        torch.autograd.grad(y, x)
        assert how_many_live(watched) == 0


def test_retain_graph_drops_nothing(torch):
    x = torch.ones(3, requires_grad=True)
    with collector_off():
        y, watched = graph_with_watched_saves(torch, lambda: (x**2).exp().sum())
        y.backward(retain_graph=True)
        assert how_many_live(watched) == 2
        y.backward()
        assert how_many_live(watched) == 0


def test_grad_for_some_inputs_frees_only_the_nodes_that_ran(torch):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    of_x, of_w = x * x, w * w
    y = (of_x * of_w).sum()
    torch.autograd.grad(y, x)
    with pytest.raises(RuntimeError):
        of_x.grad_fn._saved_self  # noqa: B018
    assert of_w.grad_fn._saved_self is w
    of_w.sum().backward()
    assert_equal(w.grad, [2, 2])


@pytest.mark.beyond
def test_the_bytes_come_back_at_once(torch):
    x = torch.ones(1000, requires_grad=True)
    with collector_off():
        y = (x.exp() * 2).tanh().sin().sum()
        before = live_bytes(torch)
        saved = {slot.storage: slot.nbytes for node in nodes_of(y) for slot in node.saved}
        assert sorted(saved.values()) == [8, 4000, 4000], "the results of exp and tanh, which sin saves too; the number"
        y.backward()
        assert live_bytes(torch) == before - 8008 + x.grad.nbytes
    assert {slot.state for node in nodes_of(y) for slot in node.saved} == {"freed"}


@pytest.mark.beyond
def test_bytes_come_back_during_the_backward(torch):
    """Each node frees as soon as it has run: the peak of a backward does not grow with the graph's length."""
    x = torch.ones(100_000, requires_grad=True)
    y = x
    for _ in range(20):
        y = y.exp() * 0.1
    total = y.sum()
    del y
    torch.memory.reset_peak()
    before = live_bytes(torch)
    total.backward()
    assert torch.memory.stats().peak <= before + 4 * 400_000


def test_the_example_of_the_thread(torch):
    m = torch.tensor([0.0], requires_grad=True)
    x = torch.tensor([3.0], requires_grad=True)
    k = x * 2
    node, edges = k.grad_fn, k.grad_fn.next_functions
    k.backward()
    m = k
    assert k.grad_fn is node
    assert k.grad_fn.next_functions == edges
    assert m.grad_fn is k.grad_fn
    assert m.requires_grad
    assert repr(m) == "tensor([6.], grad_fn=<MulBackward0>)"


@pytest.mark.beyond
def test_nodes_stay_while_a_result_is_held_and_go_with_it(torch):
    x = torch.ones(3, requires_grad=True)
    x * 1
    with collector_off():
        before = nodes_alive(torch)
        k = (x * 2).exp().sum()
        another = k
        k.backward()
        assert nodes_alive(torch) == before + 3
        del k
        assert nodes_alive(torch) == before + 3, "another name holds it"
        del another
        assert nodes_alive(torch) == before


def test_a_freed_result_can_be_built_upon(torch):
    x = torch.tensor([3.0], requires_grad=True)
    k = x * x
    k.backward()
    assert (k + 1).requires_grad
    assert (k + 1).grad_fn.next_functions[0][0] is k.grad_fn
    assert (k.detach() + 1).tolist() == [10.0]


def test_what_the_user_holds_lives_on(torch):
    model = torch.nn.Linear(3, 3)
    a = torch.randn(2, 3)
    before = a.tolist(), model.weight.tolist()
    hidden = model(a).tanh()
    hidden_before = hidden.tolist()
    hidden.sum().backward()
    grad = model.weight.grad
    grad_before = grad.tolist()
    assert (a.tolist(), model.weight.tolist(), hidden.tolist()) == (*before, hidden_before)
    model(a).tanh().sum().backward(inputs=[model.bias])
    assert model.weight.grad is grad
    assert grad.tolist() == grad_before
    assert model(a).tanh().tolist() == hidden_before


def test_a_saved_tensor_that_the_user_took_out_lives_on(torch):
    y = (torch.tensor([2.0], requires_grad=True) * 3).exp()
    saved = y.grad_fn._saved_result
    value = saved.tolist()
    y.backward()
    assert saved.tolist() == value


@pytest.mark.beyond
def test_memory_goes_only_with_its_last_holder(torch):
    x = torch.ones(1000, requires_grad=True)
    with collector_off():
        start = live_bytes(torch)
        h = x.exp()
        y = h.sum()
        y.backward()
        x.grad = None
        assert live_bytes(torch) == start + h.nbytes + y.nbytes
        alias = h.detach()
        del h
        assert live_bytes(torch) == start + alias.nbytes + y.nbytes
        del alias
        assert live_bytes(torch) == start + y.nbytes
