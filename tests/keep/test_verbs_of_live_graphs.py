"""6.12: verbs for a live graph. A later use names their line."""

import pytest
from graph_support import assert_close, assert_equal, line_here

import clew
from clew.autograd.errors import GraphFreedError

pytestmark = pytest.mark.beyond


def test_free_drops_what_was_saved():
    x = clew.ones(1000, requires_grad=True)
    y = x.exp().tanh()
    before = clew.memory.stats().live
    del_line = line_here() + 1
    clew.graph.free(y)
    assert clew.memory.stats().live == before - 4000  # exp's result; tanh's is y
    with pytest.raises(GraphFreedError, match=r"clew\.graph\.free") as caught:
        y.sum().backward()
    assert caught.value.freed_at.line == del_line
    assert caught.value.freed_by == "clew.graph.free"
    assert "call clew.graph.free after the last backward that needs it" in str(caught.value)
    assert "retain_graph" not in caught.value.advice


def test_free_and_cut_want_a_history():
    for verb in (clew.graph.free, clew.graph.cut):
        with pytest.raises(RuntimeError, match="expected a tensor with a history"):
            verb(clew.ones(2, requires_grad=True))
        with pytest.raises(TypeError, match="expected a Tensor or a Node, got int"):
            verb(3)


def test_cut_stops_gradients_and_lets_the_older_graph_go():
    w = clew.full((1000,), 0.5, requires_grad=True)
    h = clew.zeros(1000)
    steps = 50
    live = []
    window = []
    for _ in range(steps):
        h = (h + w).tanh()
        window.append(h)
        if len(window) > 3:
            clew.graph.cut(window[0])
            last = window.pop(0)
        live.append(clew.memory.stats().live)
    assert max(live[10:]) == min(live[10:])
    h.sum().backward()
    # The same by hand: the state three steps back is a constant.
    again = last.detach()
    v = w.detach().requires_grad_()
    for _ in range(3):
        again = (again + v).tanh()
    again.sum().backward()
    assert_close(w.grad, v.grad.numpy())
    assert_equal(again, h.detach().numpy())


def test_a_sliding_window_takes_constant_memory_and_gives_the_right_gradients():
    """Ten thousand steps of a recurrent network, each with a backward through the last eight."""
    clew.manual_seed(0)
    size, window, steps = 4, 8, 10_000
    w = (clew.randn(size, size) * 0.4).requires_grad_()
    inputs = clew.randn(steps, size)
    states, live, objects = [clew.zeros(size)], [], []
    for step in range(steps):
        h = (states[-1] @ w + inputs[step]).tanh()
        states.append(h)
        if len(states) > window + 1:
            clew.graph.cut(states[1])
            del states[0]
        (gradient,) = clew.autograd.grad(h.square().sum(), w, retain_graph=True)
        if step % 997 == 996:
            # By hand, from the state before the window, which is a constant.
            again, v = states[0].detach(), w.detach().requires_grad_()
            for late in range(step - window + 1, step + 1):
                again = (again @ v + inputs[late]).tanh()
            assert_equal(gradient, clew.autograd.grad(again.square().sum(), v)[0].numpy())
            del again, v
        live.append(clew.memory.stats().live)
        objects.append(clew.memory.stats().objects)
    assert set(live[2 * window :]) == {live[-1]}
    assert set(objects[2 * window :]) == {objects[-1]}


def test_what_was_cut_says_where():
    w = clew.ones(1, requires_grad=True)
    h = w * 2
    y = h * 3
    clew.graph.cut(h)
    line = line_here() - 1
    with pytest.raises(RuntimeError, match=rf"cut by clew\.graph\.cut at .*:{line}"):
        clew.autograd.grad(y, [w])
    assert y.requires_grad
    y.backward()
    assert w.grad is None


def test_a_cut_tensor_still_has_hooks_and_retains_its_gradient():
    w = clew.ones(1, requires_grad=True)
    h = w * 2
    h.retain_grad()
    seen = []
    h.register_hook(lambda grad: seen.append(grad.item()))
    clew.graph.cut(h)
    (h * 3).backward()
    assert (seen, h.grad.item()) == ([3.0], 3.0)


def test_one_of_several_results_is_cut_through_a_clone():
    w = clew.ones(4, requires_grad=True)
    a, b = (w * 2).split(2)
    with pytest.raises(NotImplementedError, match=r"take clone\(\) of it"):
        clew.graph.cut(a)
    (a + b).sum().backward()
    assert_equal(w.grad, [2, 2, 2, 2])


def test_keep_spares_the_graph_below():
    w = clew.ones(1, requires_grad=True)
    h = (w * 2).exp()
    first, second = h.tanh().sum(), (h * h).sum()
    first.backward(keep=[h])
    second.backward()
    with pytest.raises(GraphFreedError):
        first.backward()
    expected = clew.ones(1, requires_grad=True)
    e = (expected * 2).exp()
    (e.tanh().sum() + (e * e).sum()).backward()
    assert_close(w.grad, expected.grad.numpy())


def test_keep_takes_nodes_and_refuses_others():
    w = clew.ones(1, requires_grad=True)
    h = w.exp()
    y = h.tanh()
    y.backward(keep=h.grad_fn)
    h.backward()
    z = w.exp()
    with pytest.raises(TypeError, match="expected a Tensor or a Node, got str"):
        z.backward(keep=["h"])
    z.backward()
