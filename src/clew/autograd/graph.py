"""What can be done with the graph while it is made and run: hooks on what is saved and on gradients, edges.

These are PyTorch's names (``torch.autograd.graph``), and they change what happens. To look at a graph that is there
(what it saved, what it looks like, who holds it), which PyTorch has no names for, see ``clew.graph``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .. import _core
from .._core import Node, Tensor
from . import saved_hooks
from .handles import HookHandle, HookHandles
from .mutation import allow_mutation_on_saved_tensors

__all__ = [
    "GradientEdge",
    "Node",
    "allow_data_writes",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class saved_tensors_hooks:
    """Tensors that nodes save inside go through `pack_hook`; what it returns is kept in their place.

    Args:
        pack_hook: gets the tensor, returns anything. It must not write to the tensor.
        unpack_hook: gets what `pack_hook` returned, each time the tensor is needed, and returns a tensor of the same
            values.

    Of nested contexts the innermost one counts.

    Example:
        >>> def pack(tensor):
        ...     print("saved", tuple(tensor.shape))
        ...     return tensor
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
        ...     y = x.exp()
        saved (2,)
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        saved_hooks.push(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc_info: object) -> None:
        saved_hooks.pop()


class save_on_cpu(saved_tensors_hooks):
    """Tensors saved inside are kept on the CPU, where they are already: it is here so that scripts run.

    Raises:
        NotImplementedError: `pin_memory=True`.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.save_on_cpu():
        ...     y = x.exp().sum()
        >>> y.backward()
        >>> x.grad
        tensor([2.7183, 2.7183])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if pin_memory:
            raise NotImplementedError("save_on_cpu: pin_memory=True is not supported; there is no other device")
        super().__init__(lambda tensor: tensor, lambda packed: packed)


class disable_saved_tensors_hooks:
    """A context in which `saved_tensors_hooks` raise a `RuntimeError` with this message. It decorates functions too.

    Raises:
        RuntimeError: with the message, if hooks are active when the block is entered, or are asked for in it.

    Example:
        >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
        ...     with torch.autograd.graph.save_on_cpu():
        ...         pass
        Traceback (most recent call last):
        RuntimeError: no hooks here
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        self._before = saved_hooks.disable(self.error_message)

    def __exit__(self, *exc_info: object) -> None:
        saved_hooks.disable(self._before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        from functools import wraps

        @wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with disable_saved_tensors_hooks(self.error_message):
                return function(*args, **kwargs)

        return decorated


class allow_data_writes:
    """A backward inside trusts that what was written through `.data` to saved memory leaves the gradient right.

    A write through `.data` (or another alias with a version counter of its own) to what a node saved makes its backward
    fail, as the gradient would be that of other values. If the values are in place again, say so with this context.
    PyTorch has no such check, and no such context.

    Example:
        >>> x = clew.ones(1, requires_grad=True)
        >>> y = x**2
        >>> _ = x.data.add_(1)
        >>> _ = x.data.sub_(1)
        >>> with clew.autograd.graph.allow_data_writes():
        ...     y.backward()
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _core.set_mode("allow_data_writes", True)

    def __exit__(self, *exc_info: object) -> None:
        _core.set_mode("allow_data_writes", self._before)


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: a node, and which of its outputs the tensor is.

    It may stand for the tensor in `autograd.grad` and `autograd.backward`, and does not keep the tensor's memory.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> edge = torch.autograd.graph.get_gradient_edge(x)
        >>> torch.autograd.grad((x * 3).sum(), edge)
        (tensor([3.]),)
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge by which gradients of the tensor enter the graph.

    Raises:
        RuntimeError: the tensor needs no gradient.
        AssertionError: it is a view that has no history although its base has.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> edge = torch.autograd.graph.get_gradient_edge(x * 2)
        >>> edge.node.name(), edge.output_nr
        ('MulBackward0', 0)
    """
    node, output_nr = tensor._gradient_edge()
    if node is None:
        if tensor.requires_grad:
            raise AssertionError(
                "Expected gradient function to be set: this view was made under no_grad, or before its base required "
                "gradients, so it has none; make the view again with gradients enabled"
            )
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients; set "
            "requires_grad=True before it is used"
        )
    return GradientEdge(node, output_nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write in place that clew could not see, such as NumPy's, so that backward finds out.

    Raises:
        RuntimeError: what is neither a tensor nor an iterable of tensors.

    Example:
        >>> x = torch.ones(1)
        >>> x.numpy()[0] = 5.0
        >>> torch.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    if isinstance(tensor, Tensor):
        tensor = (tensor,)
    try:
        tensors = list(tensor)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for one in tensors:
        _core.increment_version(one)


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> HookHandles:
    """Call one hook for several tensors in each backward.

    Args:
        tensors: they must need gradients, with "all".
        fn: with mode "all" it gets a list with the gradient of each tensor, None for those that the backward does not
            reach, as soon as all others are there. With "any" it gets the first gradient that is there.
        mode: "all" or "any".

    Raises:
        ValueError: another mode.
        RuntimeError: with "all", a tensor needs no gradient.

    Example:
        >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
        >>> (a * 2 + b * 3).backward()
        [tensor([2.]), tensor([3.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        return _register_any(tensors, fn)
    return _register_all(tensors, fn)


class _OfRuns(dict[int, Any]):
    """Something for each backward under way, by its serial number. What failed runs left is dropped when one begins."""

    def begin(self, run: int, value: Any) -> None:
        under_way = _core.backward_serials()
        for old in [serial for serial in self if serial not in under_way]:
            del self[old]
        self[run] = value


def _register_all(tensors: Sequence[Tensor], fn: Callable[..., Any]) -> HookHandles:
    # Weak: a node owns its hooks, and would own itself through them.
    nodes = [weakref.ref(get_gradient_edge(tensor).node) for tensor in tensors]
    gradients, left = _OfRuns(), _OfRuns()

    def is_reached(reference: weakref.ref[Node]) -> bool:
        node = reference()
        return node is not None and _core.backward_reaches(node)

    def hook_of(index: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            run = _core.backward_serial()
            if run not in left:
                left.begin(run, sum(map(is_reached, nodes)))
                gradients.begin(run, [None] * len(nodes))
            gradients[run][index] = gradient
            left[run] -= 1
            if left[run] == 0:
                fn(gradients.pop(run))

        return hook

    return HookHandles([HookHandle(*tensor._add_hook(hook_of(i))) for i, tensor in enumerate(tensors)])


def _register_any(tensors: Sequence[Tensor], fn: Callable[..., Any]) -> HookHandles:
    done = _OfRuns()

    def hook(gradient: Tensor) -> None:
        run = _core.backward_serial()
        if run not in done:
            done.begin(run, True)
            fn(gradient)

    return HookHandles([HookHandle(*tensor._add_hook(hook)) for tensor in tensors if tensor.requires_grad])
