"""A forum thread: "How computation graph is created and freed?"."""

from __future__ import annotations

import time
import weakref

import clew as torch
from clew import _core

from .asking import Thread, fails

THREAD = Thread("How is a computation graph created and freed?")


@THREAD.question(
    "Does each round of the loop create a completely new graph, and is the one from the round before freed?",
    "Yes. When y is assigned a new result, nothing references the old one, and its graph is freed at once. No garbage "
    "collector is needed.",
)
def a_new_graph_each_round() -> None:
    a = torch.ones(2, 3, requires_grad=True)
    alive = []
    for _ in range(100):
        y = torch.sum(a * a)
        y.backward()
        alive.append(weakref.ref(y.grad_fn))
    still = [reference for reference in alive if reference() is not None]
    print(f"of 100 graphs {len(still)} is alive: the one that y holds")
    assert len(still) == 1


@THREAD.question(
    "If I call y.backward(), is the graph freed within the loop?",
    "What the graph saved is freed. The nodes stay until y is freed. torch.sum saves nothing, so for y = torch.sum(a) "
    "there is nothing to free.",
)
def what_backward_frees() -> None:
    a = torch.ones(2, 3, requires_grad=True)
    y = torch.sum(a * a)
    before = [slot.state for node in torch.explain(y).nodes for slot in node.saved]
    y.backward()
    after = [slot.state for node in torch.explain(y).nodes for slot in node.saved]
    print(f"before: {before}, after: {after}, y.grad_fn: {y.grad_fn.name()}")
    assert set(before) == {"held"}
    assert set(after) == {"freed"}


@THREAD.question(
    "Can I treat the graph as static: put new data into a.data in a loop and call y.forward() and y.backward() on "
    "the graph that is built?",
    "Yes, if it was recorded in `with torch.keep_graph():`. Otherwise a graph keeps the data of the forward that ran: "
    "after a.data = t it gives the gradient at the old data. y.forward() then raises an error with the solution. "
    "Running the operations again costs a tenth of a microsecond for each node.",
)
def a_static_graph() -> None:
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    y = torch.sum(a * a)
    a.data = torch.tensor([10.0, 10.0])
    y.backward()
    print(f"a is {a.tolist()}, the gradient is that of the old data: {a.grad.tolist()}")
    assert a.grad.tolist() == [4, 6]
    with fails(RuntimeError, "keep_graph"):
        y.forward()
    with torch.keep_graph():
        y = torch.sum(a * a)
    for value in (1.0, 2.0):
        a.data, a.grad = torch.tensor([value, value]), None
        y.forward()
        y.backward()
        print(f"kept: a is {a.tolist()}, y is {y.item()}, the gradient {a.grad.tolist()}")
        assert a.grad.tolist() == [2 * value, 2 * value]


@THREAD.question(
    "With retain_graph=True in a loop of 100 rounds: are all 100 graphs in memory, or the last one only?",
    "Only the last one. retain_graph keeps what one graph saved. The graph itself lives as long as something "
    "references its result, and each iteration assigns y again.",
)
def retain_graph_in_a_loop() -> None:
    a = torch.ones(1000, requires_grad=True)
    live = []
    for _ in range(100):
        y = torch.sum(torch.exp(a))
        y.backward(retain_graph=True)
        live.append(torch.memory.stats().live)
    print(f"bytes alive after round 2: {live[1]:,}, after round 100: {live[-1]:,}")
    assert live[1] == live[-1]


@THREAD.question(
    "What exactly is the operation that frees the graph?",
    "Python's reference counting. A graph is freed when the last name that leads to it is assigned again or deleted, "
    "or when its function ends.",
)
def what_frees_a_graph() -> None:
    a = torch.ones(3, requires_grad=True)
    y = torch.sum(a * a)
    graph = weakref.ref(y.grad_fn)
    also = y
    del y
    print(f"after del y, while another name holds the result: {graph()}")
    assert graph() is not None
    del also
    print(f"after del of that name: {graph()}")
    assert graph() is None


@THREAD.question(
    "If a variable is updated in the loop with a value whose graph was retained, does the graph expand at each "
    "iteration?",
    "Yes. The new u leads to the graph of the old u. The graph grows by a few nodes in each iteration, and every "
    "backward runs through all of it. Start each iteration from u.detach().",
)
def a_graph_that_grows() -> None:
    matrix, b = torch.eye(2), torch.ones(2)

    def descend(detach: bool) -> list[int]:
        u = torch.zeros(2, requires_grad=True)
        sizes = []
        for _ in range(5):
            cost = ((matrix @ u - b) ** 2).sum()
            sizes.append(torch.explain(cost).totals.nodes)
            (slope,) = torch.autograd.grad(cost, u, create_graph=True)
            u = u - 0.1 * slope
            if detach:
                u = u.detach().requires_grad_()
        return sizes

    growing, steady = descend(detach=False), descend(detach=True)
    print(f"nodes in each round: {growing}; with detach: {steady}")
    assert growing == sorted(set(growing))
    assert len(set(steady)) == 1


@THREAD.question(
    "What percentage of the time of forward and backward is spent on forming the graph? How big is the hit of "
    "dynamic construction?",
    "You can measure it, with this program or with clew xray. For large tensors it is nearly nothing. For tiny tensors "
    "it is the share printed below, and a fraction of a microsecond for each operation.",
)
def the_price_of_a_dynamic_graph() -> None:
    def share(width: int) -> float:
        a = torch.rand(width, requires_grad=True)
        _core.timing(True)
        before, started = _core.timings(), time.perf_counter_ns()
        for _ in range(200):
            torch.sum(torch.tanh(a * a) * a).backward()
        total = time.perf_counter_ns() - started
        recording = _core.timings()["recording"] - before["recording"]
        _core.timing(False)
        return float(100 * recording / total)

    tiny, large = share(4), share(100_000)
    print(f"building the graph took {tiny:.1f} % of the step at 4 elements, {large:.2f} % at 100,000")
    assert large < 10
