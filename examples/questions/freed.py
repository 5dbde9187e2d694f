"""A forum thread: "Which is freed, which is not?"."""

from __future__ import annotations

import clew as torch

from .asking import Thread, fails

THREAD = Thread("Which is freed, which is not?")


@THREAD.question(
    "A hundred backward passes, each after y = sum(x(a)) in the loop, pass. If y.backward() frees the graph, and "
    "x and a are in it, why can the second round find x and a?",
    'Each iteration builds a new graph. "Freed" means that the graph no longer references what it saved. The tensors '
    "a, x.weight and x.bias belong to your variables. They live on, and the next iteration saves them again.",
)
def a_forward_in_the_loop() -> None:
    x = torch.nn.Linear(3, 3)
    a = torch.randn(2, 3)
    graphs = []
    for _ in range(100):
        y = torch.sum(x(a))
        y.backward()
        graphs.append(y.grad_fn)
    assert len({id(graph) for graph in graphs}) == 100
    print(f"100 graphs were made; a is still {tuple(a.shape)}, x.weight.grad is {tuple(x.weight.grad.shape)}")
    print(torch.explain(y, params=dict(x.named_parameters())))


@THREAD.question(
    "Moving y = torch.sum(x(a)) out of the loop makes the second y.backward() fail. Why?",
    "Now there is one graph, built at the line of y. The first backward freed what its AddmmBackward0 had saved: a, "
    "which the gradient of the weight needs. Nothing saved it again. Compute y inside the loop, or use "
    "retain_graph=True.",
)
def a_forward_outside_the_loop() -> None:
    x = torch.nn.Linear(3, 3)
    a = torch.randn(2, 3)
    y = torch.sum(x(a))
    y.backward()
    with fails(RuntimeError, "Trying to backward through the graph a second time"):
        y.backward()


@THREAD.question(
    "When is the graph created, and which variables and modules are in it?",
    "The graph is created while the operations run, with one node for each: linear, then sum. A module is not part of "
    "the graph. Its parameters are leaves of the graph, because they require a gradient. a requires none: the graph "
    "saves a for the gradient of the weight, but has no edge to a.",
)
def what_the_graph_contains() -> None:
    x = torch.nn.Linear(3, 3)
    a = torch.randn(2, 3)
    y = torch.sum(x(a))
    told = torch.explain(y, params=dict(x.named_parameters()))
    print(told)
    leaves = {node.leaf.name for node in told.nodes if node.leaf is not None}
    assert leaves == {"weight", "bias"}


@THREAD.question(
    "Is x freed too? And a? If I look at a after y.backward(), it still exists. What are the buffers that are freed?",
    "Several variables can reference one object. Freeing removes only the reference of the graph. What your variables "
    "reference stays. What only the graph referenced is freed at that moment, such as the hidden activation here.",
)
def what_you_hold_lives_on() -> None:
    a = torch.randn(1000, 10)
    first, second = torch.nn.Linear(10, 500), torch.nn.Linear(500, 1)
    y = second(torch.relu(first(a))).sum()
    before = torch.memory.stats().live
    y.backward()
    freed = before - torch.memory.stats().live
    print(f"backward gave back {freed:,} bytes, although it made the gradients; a has {a.nbytes:,} bytes and is here")
    assert freed > 1000 * 500 * 4 - 4 * (10 * 500 + 500 + 500 + 1) * 4
    assert a.shape == (1000, 10)
    assert first.weight.shape == (500, 10)


@THREAD.question(
    "x_out = x(a) stands outside the loop, y = torch.sum(x_out) inside. y is rebuilt each time, yet it fails. Does "
    "sum not make a graph?",
    "sum creates a new node each time. But the edge of this node leads to the node of x_out, which was created once, "
    "outside. The first backward freed that shared part, and the second fails in it, not in the sum. Compute x_out "
    "inside the loop, or retain the graph.",
)
def a_part_outside_the_loop() -> None:
    x = torch.nn.Linear(3, 3)
    a = torch.randn(2, 3)
    x_out = x(a)
    y = torch.sum(x_out)
    y.backward()
    y = torch.sum(x_out)
    told = torch.explain(y)
    print([(node.name, str(node.released) if node.released else "not freed") for node in told.nodes if not node.leaf])
    with fails(RuntimeError, "a second time"):
        y.backward()


@THREAD.question(
    "And with x_out = x(a) in the loop as well?",
    "Then every iteration builds the whole graph. Calling an operation adds to the graph. It makes no difference "
    "whether the call is in the forward() of a module.",
)
def everything_in_the_loop() -> None:
    x = torch.nn.Linear(3, 3)
    a = torch.randn(2, 3)
    for _ in range(100):
        x_out = x(a)
        y = torch.sum(x_out)
        y.backward()
    print("100 backward passes are done")


@THREAD.question(
    "Two backward passes in one round of the loop?",
    "The second one needs the graph that the first one has freed. The error names the call that freed it.",
)
def twice_in_one_round() -> None:
    x = torch.nn.Linear(3, 3)
    a = torch.randn(2, 3)
    y = torch.sum(x(a))
    y.backward()  # fine
    with fails(RuntimeError, "a second time"):
        y.backward()


@THREAD.question(
    "a = torch.tensor(2.0, requires_grad=True); c = a * 5; c.backward(). After that the buffer is deleted: which, "
    "when 5 is no tensor?",
    "The node needs the number 5 for its derivative, so the number counts as saved. That is why the second backward "
    "fails. a and its gradient are referenced by your variables and stay.",
)
def a_number_is_saved_too() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    c = a * 5
    c.backward()
    print(f"a = {a.item()}, a.grad = {a.grad.item()}")
    assert a.grad.item() == 5
    with fails(RuntimeError, "a second time"):
        c.backward()


@THREAD.question(
    "Does every graph break at the second backward?",
    "No. A graph that saved nothing has nothing to free. The derivative of a sum depends on the shape alone.",
)
def a_graph_that_saves_nothing() -> None:
    a = torch.ones(3, requires_grad=True)
    y = a.sum()
    print(torch.explain(y, params={"a": a}))
    for _ in range(3):
        y.backward()
    assert a.grad.tolist() == [3, 3, 3]
