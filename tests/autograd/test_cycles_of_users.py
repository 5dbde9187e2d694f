"""2.7 Cycles that users make are visible to Python's collector, and it takes nothing that is in use."""

import gc
import time
import weakref

import pytest
from graph_support import Token, assert_equal, live_bytes, nodes_alive
from users_cycles import CYCLES, function_class, remember


@pytest.mark.beyond
@pytest.mark.parametrize("cycle", CYCLES)
def test_a_users_cycle_is_collected(torch, cycle):
    token = Token()
    ended = weakref.ref(token)
    cycle(torch, token)
    del token
    gc.collect()
    assert ended() is None


@pytest.mark.beyond
@pytest.mark.parametrize("cycle", CYCLES)
def test_memory_of_users_cycles_is_back_after_a_collection(torch, cycle):
    cycle(torch, Token())
    gc.collect()
    before = live_bytes(torch), nodes_alive(torch)
    for _ in range(5):
        cycle(torch, Token())
        gc.collect()
        assert (live_bytes(torch), nodes_alive(torch)) == before


@pytest.mark.beyond
def test_two_graphs_that_hold_each_other_are_collected(torch):
    token = Token()
    ended = weakref.ref(token)
    first = torch.ones(3, requires_grad=True) * 2
    second = torch.ones(3, requires_grad=True).exp()
    first.grad_fn.register_hook(remember(second, token))
    second.grad_fn.register_hook(remember(first))
    del token, first, second
    gc.collect()
    assert ended() is None


@pytest.mark.parametrize("cycle", CYCLES)
def test_the_collector_takes_nothing_from_a_graph_in_use(torch, cycle):
    """The upper half of a graph is reachable only through native references while the collector runs."""
    seen = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    h.register_hook(lambda grad: seen.append(("tensor", grad.tolist())))
    h.grad_fn.register_hook(lambda *_: seen.append("node"))
    h.marked = True
    y = function_class(torch).apply(h, Token())
    total = (y * 3).sum()
    del h, y
    for generation in (0, 1, 2):
        cycle(torch, Token())
        gc.collect(generation)
    gc.collect()
    total.backward()
    assert seen == [("tensor", [6.0, 6.0]), "node"]
    assert_equal(x.grad, [12, 24])


def test_the_collector_takes_nothing_from_a_shared_part(torch):
    """A dead result and a living one share nodes with hooks: only the dead one's own part may go."""
    seen = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    shared = x.exp()
    shared.grad_fn.register_hook(lambda *_: seen.append("shared"))
    dead = shared * 2
    dead.grad_fn.register_hook(remember(dead))
    living = shared.sum()
    del dead, shared
    for _ in range(3):
        gc.collect()
    living.backward()
    assert seen == ["shared"]
    assert_equal(x.grad, x.exp().tolist())


def test_the_collector_may_run_at_any_moment_of_a_step(torch):
    old = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        x = torch.tensor([0.5, 1.5], requires_grad=True)
        for _ in range(20):
            h = x * 2
            h.register_hook(remember(h))
            y = (h.exp() * h).sum()
            y.backward(retain_graph=True)
            y.backward()
    finally:
        gc.set_threshold(*old)
    h = x.detach() * 2
    expected = 40 * 2 * (h.exp() * h + h.exp())
    assert torch.allclose(x.grad, expected)


@pytest.mark.beyond
def test_a_graph_with_hooks_is_not_walked_at_every_young_collection(torch):
    """Collections of the youngest generation cost the same whatever the size of older graphs."""
    h = torch.ones(1, requires_grad=True) * 1.0
    h.grad_fn.register_hook(Token())
    y = h
    for _ in range(100_000):
        y = y * 1.0
    gc.collect()

    def young():
        began = time.perf_counter()
        h.detach()
        gc.collect(0)
        return time.perf_counter() - began

    assert min(young() for _ in range(20)) < 0.001
    assert y.requires_grad


@pytest.mark.beyond
def test_a_cycle_through_a_deep_graph_is_collected_without_recursion(run_script):
    source = """
import gc, threading, weakref
threading.stack_size(256 * 1024)

class Token:
    pass

def work():
    token = Token()
    ended = weakref.ref(token)
    h = torch.ones(1, requires_grad=True) * 1.0
    y = h
    for _ in range(200_000):
        y = y * 1.0
    h.grad_fn.register_hook(lambda grads, outputs, held=(y, token): None)
    del h, y, token
    gc.collect()
    assert ended() is None
    print("collected", torch._core.graph_counters()["nodes_alive"])

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    assert run_script(source).stdout == "collected 0\n"
