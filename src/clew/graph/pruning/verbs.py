"""Let go of parts of a graph before a backward, or in place of one."""

from __future__ import annotations

from ... import _core
from ..._core import Node, Tensor


def free(result: Tensor | Node) -> None:
    """Drop what the graph of `result` saved, as a backward would. A later backward says that it was freed here.

    What other results share with it is freed, too.

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
    """Sever the history of `tensor` in all graphs that lead to it: no gradient passes it any more.

    What it saved, and the graph that only it led to, go at once. So the state of a recurrent network can be cut a fixed
    number of steps behind the newest, and memory does not grow (truncated backpropagation through time). Gradients
    that were on their way elsewhere are as before; hooks of `tensor`, and its `.grad` if it retains it, still work.

    Raises:
        RuntimeError: `tensor` has no history.
        NotImplementedError: its operation gave several tensors (`split`, an LSTM cell); cut a `clone()` of it.
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
