"""Let go of parts of a graph before a backward, or in place of one."""

from __future__ import annotations

from ... import _core
from ..._core import Node, Tensor


def free(result: Tensor | Node) -> None:
    """Free what the graph of `result` saved, as a backward would. The error of a later backward names this call.

    This also frees what the graph shares with other results.

    Raises:
        RuntimeError: `result` has no history.
        TypeError: it is neither a tensor nor a node.

    Example:
        >>> x = clew.ones(3, requires_grad=True)
        >>> y = x.exp()
        >>> clew.graph.free(y)
        >>> try:
        ...     y.sum().backward()
        ... except RuntimeError as error:
        ...     print(type(error).__name__)
        GraphFreedError
    """
    _core.free_graph(result)


def cut(tensor: Tensor | Node) -> None:
    """Remove the history of `tensor` from all graphs that lead to it. No gradient passes through it afterwards.

    What the node saved is freed at once, and so is the graph that only it led to. So the state of a recurrent network
    can be cut a fixed number of steps behind the newest one, and memory does not grow (truncated backpropagation
    through time). Other gradients do not change. Hooks of `tensor`, and its `.grad` if it retains it, still work.

    Raises:
        RuntimeError: `tensor` has no history.
        NotImplementedError: its operation has several results (`split`, an LSTM cell); cut a `clone()` of it.
        TypeError: it is neither a tensor nor a node.

    Example:
        >>> w = clew.ones(1, requires_grad=True)
        >>> h1 = w * 2
        >>> h2 = h1 * w
        >>> clew.graph.cut(h1)
        >>> h2.backward()
        >>> w.grad  # of h1 * w alone
        tensor([2.])
    """
    _core.cut_history(tensor)
