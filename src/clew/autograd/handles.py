"""Handles of hooks that live in the graph."""

from __future__ import annotations

import weakref
from typing import Any

from .._core import Node, Tensor


class HookHandle:
    """What registering a hook on a tensor or node returns: `remove()` takes the hook away; so does a `with` block.

    The handle does not keep the graph alive.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> with x.register_hook(lambda grad: print("inside", grad)):
        ...     (x * 2).backward()
        inside tensor([2.])
        >>> (x * 2).backward()
    """

    __slots__ = ("_node", "id")

    def __init__(self, node: Node, number: int) -> None:
        self._node = weakref.ref(node)
        self.id = number

    def remove(self) -> None:
        """Take the hook away. Calling it again does nothing."""
        node = self._node()
        if node is not None:
            Tensor._remove_hook(node, self.id)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


class HookHandles:
    """Several handles that are removed together."""

    __slots__ = ("handles",)

    def __init__(self, handles: list[HookHandle]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Take all the hooks away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> HookHandles:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


def register_node_hook(self: Node, fn: Any) -> HookHandle:
    """Call `fn(grad_inputs, grad_outputs)` after the node ran in a backward.

    Both are tuples with a tensor or None for each input and output of the node. What `fn` returns, if not None, stands
    in for `grad_inputs`.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: print(grad_inputs, grad_outputs))
        >>> y.backward()
        (tensor([3.]), None) (tensor([1.]),)
    """
    return HookHandle(*Tensor._add_node_hook(self, "post", fn))


def register_node_prehook(self: Node, fn: Any) -> HookHandle:
    """Call `fn(grad_outputs)` before the node runs in a backward. What it returns, if not None, stands in for them.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 10,))
        >>> y.backward()
        >>> x.grad
        tensor([30.])
    """
    return HookHandle(*Tensor._add_node_hook(self, "pre", fn))
