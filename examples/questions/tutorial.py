"""A tutorial on computational graphs: its claims, run."""

from __future__ import annotations

import math

import clew as torch

from .asking import Thread, fails

THREAD = Thread("A tutorial, Computational Graphs")


@THREAD.question(
    "The graph is built as operations execute: which grad_fn has a leaf, a power, a sum, and what do they point to?",
    "A leaf was created by you and has no grad_fn. A result has the node of the operation that created it. "
    "next_functions leads to the nodes of its inputs. A leaf is represented by its AccumulateGrad node, which adds to "
    "the leaf's gradient.",
)
def how_it_is_built() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    z = y.sum()
    print(f"x: {x.grad_fn}, y: {y.grad_fn.name()}, z: {z.grad_fn.name()}")
    print(f"z leads to {z.grad_fn.next_functions[0][0].name()}, that to {y.grad_fn.next_functions[0][0].name()}")
    assert x.grad_fn is None
    assert z.grad_fn.next_functions == ((y.grad_fn, 0),)
    assert y.grad_fn.next_functions[0][0].variable is x


@THREAD.question(
    "What is the graph of trace(x @ x.T), where x appears twice?",
    "It has a matrix product with two edges, and both lead to the same leaf. The gradient is the sum over both edges: "
    "2x.",
)
def a_matrix_twice() -> None:
    x = torch.randn(2, 3, requires_grad=True)
    z = (x @ x.T).trace()
    print(torch.explain(z, params={"x": x}))
    z.backward()
    assert torch.allclose(x.grad, 2 * x.detach())


@THREAD.question(
    "Is the gradient of sin(x)**2 at 2 equal to sin(2x)?",
    "Yes. backward applies the chain rule node by node: 2 sin x times cos x.",
)
def the_chain_rule() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    z = torch.sin(x) ** 2
    z.backward()
    by_hand = torch.sin(2 * x.detach()).item()
    print(f"x.grad: {x.grad.item():.6f}, sin(2x): {by_hand:.6f}")
    assert math.isclose(x.grad.item(), by_hand, rel_tol=1e-6)


@THREAD.question(
    "What do two backward passes with retain_graph=True give?",
    "Gradients accumulate in .grad until you set them to zero. The second run doubles the gradient.",
)
def gradients_accumulate() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = (x**2).sum()
    loss.backward(retain_graph=True)
    once = x.grad.clone()
    loss.backward()
    print(f"after one: {once.tolist()}, after two: {x.grad.tolist()}")
    assert x.grad.tolist() == (2 * once).tolist()


@THREAD.question(
    "x is used in several terms, x**2 + x**3 at 3, or in two branches, 2x + 3x. What is the gradient?",
    "It is the sum over the paths: 2*3 + 3*9 = 33, and 2 + 3 = 5.",
)
def several_paths() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    (x**2 + x**3).backward()
    print(f"x**2 + x**3 at 3: {x.grad}")
    assert x.grad.item() == 33
    x = torch.tensor([2.0], requires_grad=True)
    (x * 2 + x * 3).backward()
    print(f"2x + 3x: {x.grad}")
    assert x.grad.item() == 5


@THREAD.question(
    "y = x**2; x.data += 1; y.sum().backward(). The tutorial expects an error because x changed. PyTorch raises "
    "none and gives 4, 6, 8. And here?",
    "A write through .data does not change the version counter, in clew as in PyTorch, so the version can't reveal the "
    "write. But clew records the write with the memory that the graph saved. backward raises instead of returning a "
    "wrong gradient.",
)
def a_write_through_data() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    x.data += 1
    with fails(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


@THREAD.question(
    "Is x += 1 on a tensor used in a computation safe? And after backward, under no_grad?",
    "A write in place to a leaf that requires a gradient is an error at once. After backward, under no_grad, nothing "
    "needs the old value. Every optimizer writes this way.",
)
def writing_in_place() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    with fails(RuntimeError, "leaf"):
        x += 1
    y.sum().backward()
    with torch.no_grad():
        x += 1
    print(f"x is {x.item()}, its gradient {x.grad.item()}, its version {x._version}")
    assert (x.item(), x.grad.item()) == (2, 2)


@THREAD.question(
    "Saved by one operation and then written by another: which of these fails?",
    "exp saves its result, because its derivative is the result. Writing to this result breaks backward. add saves "
    "nothing, so writing to its result is harmless.",
)
def what_may_be_written() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    y = x + 1
    y.mul_(3)
    y.backward()
    print(f"written after add: gradient {x.grad.item()}")
    assert x.grad.item() == 3
    y = torch.exp(x)
    y.mul_(3)
    with fails(RuntimeError, "modified by an inplace operation"):
        y.backward()


@THREAD.question(
    "The training loop: does the graph of one step outlive it?",
    "No. The graph of a step is freed when loss is assigned again. The number of bytes alive at the end of each step "
    "is the same.",
)
def the_training_loop() -> None:
    model = torch.nn.Linear(10, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 10), torch.randn(32, 1)
    live, losses = [], []
    for _ in range(100):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        live.append(torch.memory.stats().live)
        losses.append(loss.item())
    print(
        f"loss from {losses[0]:.3f} to {losses[-1]:.3f}; bytes alive after step 2: {live[1]:,}, after 100: {live[-1]:,}"
    )
    assert losses[-1] < losses[0]
    assert live[1] == live[-1]


@THREAD.question(
    "A common pitfall is a memory leak from graphs that are kept. How does one happen, and how does it show?",
    "losses.append(loss) keeps the graph of every step alive: the nodes, and without a backward everything that they "
    "saved. Append loss.item() instead. clew xray names the variable: losses[0] ... losses[9].",
)
def a_list_of_losses() -> None:
    x = torch.rand(1000, requires_grad=True)
    losses = []
    for _ in range(10):
        losses.append(torch.exp(x).sum())
    kept = torch.explain(losses).totals
    print(f"{len(losses)} losses hold {kept.nodes} nodes and {kept.held_bytes:,} bytes")
    assert kept.held_bytes == 10 * 4000
