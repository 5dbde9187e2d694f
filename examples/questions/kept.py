"""A forum thread: "What does freeing of the graph exactly mean?"."""

from __future__ import annotations

import gc
import weakref

import clew as torch

from .asking import Thread, fails

THREAD = Thread("What does freeing of the graph exactly mean?")


@THREAD.question(
    "Even after k.backward(), k has its backward graph, and m = k has it too. Is that so?",
    "Yes. backward frees what the nodes saved. Nodes and edges stay as long as something references the result. k and "
    "m are two names of one tensor, so requires_grad and grad_fn are the same.",
)
def the_nodes_stay() -> None:
    x = torch.tensor([3.0], requires_grad=True)
    k = x * 2
    k.backward()
    m = k
    print(m.requires_grad)
    print(m)
    print(torch.explain(m, params={"x": x}))
    assert m.requires_grad
    assert repr(m) == "tensor([6.], grad_fn=<MulBackward0>)"
    assert m.grad_fn is k.grad_fn


@THREAD.question(
    "With m = k.detach(), is the graph of k garbage collected when the loop's scope ends?",
    "The graph is freed at the moment when k is freed. (The garbage collector is off in this program.) m shares the "
    "values of k, not its history. m stores the line where the history was lost.",
)
def detach_lets_the_graph_go() -> None:
    gc.disable()
    try:
        x = torch.tensor([3.0], requires_grad=True)
        k = x * 2
        k.backward()
        m = k.detach()
        graph = weakref.ref(k.grad_fn)
        assert graph() is not None
        del k
        assert graph() is None
    finally:
        gc.enable()
    print(m.requires_grad)
    print(m)
    print(torch.explain(m))
    assert not m.requires_grad


@THREAD.question(
    "Why are the backward graphs kept in memory when the saved tensors are gone anyway?",
    "A result keeps its nodes alive because it needs them: repr shows its grad_fn, an error names the line that "
    "created it, and a part that saved nothing can be run again. Nodes are small. A node has a few hundred bytes at "
    "most, and what it saves is as large as your data.",
)
def what_stays_is_small() -> None:
    x = torch.rand(1_000_000, requires_grad=True)
    y = torch.exp(x).sum()
    before = torch.explain(y).totals
    y.backward()
    after = torch.explain(y).totals
    print(f"saved: {before.held_bytes:,} bytes held before, {after.held_bytes:,} after")
    print(f"the {after.nodes} nodes themselves: {after.node_bytes:,} bytes")
    assert (before.held_bytes, after.held_bytes) == (4_000_000, 0)
    assert after.node_bytes < 2000


@THREAD.question(
    "The documentation of retain_graph says: if False, the graph used to compute the grads will be freed. Is that "
    "correct?",
    "Not literally. What the graph saved is freed, but the graph is not. You can still follow its nodes after "
    "backward.",
)
def what_retain_graph_retains() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**2).sum()
    y.backward()
    names = [type(node).__name__ for node in torch.graph.walk([y.grad_fn])]
    print(f"after backward: {names}")
    assert names == ["SumBackward0", "PowBackward0", "AccumulateGrad"]
    with fails(RuntimeError, "freed"):
        print(y.grad_fn.next_functions[0][0]._saved_self)


@THREAD.question(
    "Can a backward graph be reused later, even if the saved tensors that it referred to have been freed?",
    "No. Without the saved tensors the derivative can't be computed. Retain the graph, which keeps the tensors. Or run "
    "the forward again, which saves them again. The gradients of two runs add up.",
)
def reuse_needs_what_was_saved() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    print(f"two runs of one graph: {x.grad.tolist()}")
    assert x.grad.tolist() == [4, 8]
    with fails(RuntimeError, "a second time"):
        y.backward()
