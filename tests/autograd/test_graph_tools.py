"""autograd.graph: edges, hooks on several gradients, versions, writes to what was saved."""

import gc
import threading

import pytest


def leaf(torch, *values):
    return torch.tensor(list(values or (1.0, 2.0)), requires_grad=True)


# -------------------------------------------------------------------------------------------------------------- edges
def test_an_edge_stands_for_its_tensor(torch):
    x = leaf(torch)
    h = x * 3
    y = (h * h).sum()
    edge = torch.autograd.graph.get_gradient_edge(h)
    assert (edge.node, edge.output_nr) == (h.grad_fn, 0)
    assert torch.autograd.grad(y, edge, retain_graph=True)[0].tolist() == [6.0, 12.0]
    assert torch.autograd.grad(y, (x, edge), retain_graph=True)[1].tolist() == [6.0, 12.0]
    del h
    assert torch.autograd.grad(y, edge, retain_graph=True)[0].tolist() == [6.0, 12.0]


def test_an_edge_as_output(torch):
    x = leaf(torch)
    h = x * 3
    edge = torch.autograd.graph.get_gradient_edge(h)
    del h
    assert torch.autograd.grad(edge, x, torch.ones(2))[0].tolist() == [3.0, 3.0]


def test_an_edge_of_a_leaf_and_of_a_second_output(torch):
    x = leaf(torch)
    edge = torch.autograd.graph.get_gradient_edge(x)
    assert edge.node.name().endswith("AccumulateGrad")
    assert torch.autograd.grad((x * 2).sum(), edge)[0].tolist() == [2.0, 2.0]
    row = torch.ones(2, 2, requires_grad=True).unbind()[1]
    assert torch.autograd.graph.get_gradient_edge(row).output_nr == 1


def test_edges_need_gradients(torch):
    with pytest.raises(RuntimeError, match="does not require gradients"):
        torch.autograd.graph.get_gradient_edge(torch.ones(1))


# ---------------------------------------------------------------------------------------------------------- many hooks
def test_hooks_of_several_tensors_survive_a_failed_backward(torch):
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    seen = []
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g.item() for g in grads]))
    h = b * 1
    fail = [True]

    def hook(grad):
        if fail:
            raise KeyError("once")

    h.register_hook(hook)
    product = a * h
    with pytest.raises(KeyError):
        product.backward(retain_graph=True)
    fail.clear()
    product.backward()
    assert seen == [[2.0, 1.0]]


def test_hooks_of_several_tensors_in_nested_backwards(torch):
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    inner_done, first, every = [], [], []
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grad: first.append(1), mode="any")
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: every.append(1))
    h = b * 1

    def hook(grad):
        if not inner_done:
            inner_done.append(1)
            with torch.enable_grad():
                (a * b).backward()

    h.register_hook(hook)
    (a * h).backward()
    assert (len(first), len(every)) == (2, 2), "once in each backward"


@pytest.mark.beyond
def test_hooks_of_several_tensors_under_grad(torch):
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    seen = []
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append([g is None for g in grads]))
    torch.autograd.grad(a * b, a)
    assert seen == [[False, True]]


@pytest.mark.beyond
def test_hooks_of_several_tensors_keep_nothing_alive(torch):
    gc.collect()
    gc.disable()
    try:
        before = torch._core.graph_counters()["nodes_alive"]
        a = leaf(torch)
        h = a * 2
        handle = torch.autograd.graph.register_multi_grad_hook((a, h), lambda grads: None)
        del a, h
        assert torch._core.graph_counters()["nodes_alive"] == before
        handle.remove()
    finally:
        gc.enable()


# ------------------------------------------------------------------------------------------------------------- versions
def test_increment_version(torch):
    x = torch.ones(2)
    torch.autograd.graph.increment_version(x)
    assert x._version == 1
    torch.autograd.graph.increment_version([x, x[:1]])
    assert x._version == 3
    with pytest.raises(RuntimeError, match="Iterable"):
        torch.autograd.graph.increment_version(5)
    h = leaf(torch) * 1
    y = h**2
    torch.autograd.graph.increment_version(h)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# ------------------------------------------------------------------------------------------ writes to what was saved
def allowed(torch):
    return torch.autograd.graph.allow_mutation_on_saved_tensors()


def test_what_was_saved_is_copied_before_it_is_written(torch):
    x = leaf(torch, 3.0)
    with allowed(torch):
        h = x.clone()
        y = h.exp() + h**2
        h.zero_()
        h.add_(100)
        y.backward()
    assert x.grad.item() == pytest.approx(2.718281828**3 + 6, rel=1e-5)
    assert h.item() == 100


@pytest.mark.parametrize(
    "write",
    [pytest.param("view", marks=pytest.mark.beyond), "base", "output", "out", "copy", "index", "data", "no_grad"],
)
def test_every_way_to_write(torch, write):
    x = leaf(torch, 1.0, 2.0, 3.0)
    with allowed(torch):
        h = x.clone()
        y = (h * h).sum()
        if write == "view":
            h[1:].mul_(100)
        elif write == "base":
            z = (h[1:] ** 2).sum()
            h.mul_(100)
            y = y + z - z
        elif write == "output":
            y = h.exp()
            y.mul_(1)
            y = y.log().mul_(0.5).exp().pow(4).sum()
        elif write == "out":
            torch.add(torch.ones(3), 1, out=h.detach())
        elif write == "copy":
            h.copy_(torch.zeros(3))
        elif write == "index":
            h[0] = 50.0
        elif write == "data":
            h.data.mul_(100)
        else:
            with torch.no_grad():
                h.mul_(100)
        y.backward()
    if write != "output":
        assert x.grad.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.beyond
def test_copies_are_made_only_when_needed(torch):
    x = torch.ones(1000, requires_grad=True)
    with allowed(torch):
        h = x.clone()
        y = (h * h).sum()
        before = torch.memory.stats().live
        other = h + 1
        other.mul_(2)
        del other
        assert torch.memory.stats().live == before, "nothing that was saved was written"
        for _ in range(2):
            with torch.no_grad():
                h.mul_(2)
            assert torch.memory.stats().live == before + 4000, (
                "one copy, though it was saved twice and is written twice"
            )
        y.backward()


def test_a_graph_made_inside_is_not_run_outside(torch):
    x = leaf(torch)
    with allowed(torch):
        y = (x.clone() ** 2).sum()
    with pytest.raises(
        (RuntimeError, AssertionError), match="outside of the 'allow_mutation_on_saved_tensors' context"
    ):
        y.backward()


def test_contexts_do_not_nest(torch):
    with allowed(torch), pytest.raises(RuntimeError, match="cannot be nested"), allowed(torch):
        pass


def test_hooks_on_saved_tensors_belong_to_their_thread(torch):
    seen = []

    def work():
        x = leaf(torch)
        (x * x).sum().backward()

    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: seen.append(1) or tensor, lambda packed: packed):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == []


def test_disabling_is_a_decorator_and_nests(torch):
    disable = torch.autograd.graph.disable_saved_tensors_hooks

    @disable("not in here")
    def function():
        with torch.autograd.graph.save_on_cpu():
            pass

    with pytest.raises(RuntimeError, match="not in here"):
        function()
    with disable("outer"):
        with disable("inner"):
            pass
        with pytest.raises(RuntimeError, match="outer"), torch.autograd.graph.save_on_cpu():
            pass
    with torch.autograd.graph.save_on_cpu(), pytest.raises(RuntimeError, match="late"), disable("late"):
        pass


# ------------------------------------------------------------------------------------------------------------ the nodes
def test_nodes_are_nodes(torch):
    x = leaf(torch)
    y = x * 2
    assert isinstance(y.grad_fn, torch.autograd.graph.Node)
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["mine"] = 1
    assert y.grad_fn.metadata == {"mine": 1}
    assert y.grad_fn is y.grad_fn
