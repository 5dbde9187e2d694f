"""Backward hooks of a module: two identity nodes, around its inputs and its outputs, that tell the gradients.

The node after the outputs is the first of the module's that backward reaches: it gives `grad_output`. The node before
the inputs is the last: there `grad_input` is complete and the hooks run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import clew
from clew import Tensor
from clew.autograd import Function

if TYPE_CHECKING:
    from .module import Module

Grads = tuple[Tensor | None, ...]


class BackwardHookFunction(Function):
    """Identity on any number of tensors, as one node."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Hand the tensors through, those without gradient as such."""
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Grads:
        """Hand the gradients through."""
        return grads


class BackwardHooks:
    """The hooks of one call of a module: joins what its two identity nodes see."""

    def __init__(
        self, module: Module, hooks: Sequence[Callable[..., Any]], pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: Grads | None = None
        self.inputs: _Places | None = None
        self.input_count = 0

    def wrap_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments to give to forward."""
        self.input_count = len(args)
        wrapped, self.inputs, node = _through_identity(args)
        if self.inputs is not None:
            places = self.inputs
            node.register_hook(lambda grad_inputs, _: self._after_backward(places, grad_inputs))
        return wrapped

    def wrap_outputs(self, result: Any) -> Any:
        """The result to hand out."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(result)}",
                stacklevel=2,
            )
        wrapped, places, node = _through_identity(result if isinstance(result, tuple) else (result,))
        if places is not None:
            node.register_hook(lambda _, grad_outputs: self._before_backward(places, grad_outputs))
        return wrapped if isinstance(result, tuple) else wrapped[0]

    def _before_backward(self, places: _Places, grad_outputs: Grads) -> Grads:
        grads = places.spread(grad_outputs)
        for hook in self.pre_hooks:
            changed = hook(self.module, grads)
            if changed is not None:
                _check_count("pre hook returned an invalid number of grad_output", changed, grads)
                grads = changed
        if self.inputs is None:
            # No input takes a gradient, so no node will tell when the module's backward ends.
            if self.hooks:
                self._fire_without_inputs(grads)
        else:
            self.grad_outputs = grads
        return places.gather(grads)

    def _fire_without_inputs(self, grads: Grads) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs "
            "since no inputs require gradients.",
            stacklevel=3,
        )
        for hook in self.hooks:
            changed = hook(self.module, (None,) * self.input_count, grads)
            if changed is not None and any(grad is not None for grad in changed):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient "
                    "should always return None or None for all gradients."
                )

    def _after_backward(self, places: _Places, grad_inputs: Grads) -> Grads | None:
        if self.grad_outputs is None:
            return None  # the gradient came around the module's output, as in a double backward
        grads = places.spread(grad_inputs)
        for hook in self.hooks:
            changed = hook(self.module, grads, self.grad_outputs)
            if changed is not None:
                _check_count("hook returned an invalid number of grad_input", changed, grads)
                grads = changed
        self.grad_outputs = None
        return places.gather(grads)


class _Places:
    """Where among `count` values the tensors are."""

    def __init__(self, indices: list[int], count: int) -> None:
        self.indices, self.count = indices, count

    def spread(self, grads: Grads) -> Grads:
        """One entry for each value, None where it is no tensor."""
        found = dict(zip(self.indices, grads, strict=True))
        return tuple(found.get(index) for index in range(self.count))

    def gather(self, grads: Grads) -> Grads:
        """The entries of the tensors."""
        return tuple(grads[index] for index in self.indices)


def _through_identity(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], _Places | None, Any]:
    """`values` with their tensors taken through one identity node, where they are, and the node.

    Without a tensor that requires a gradient: the same values, None and None.
    """
    indices = [index for index, value in enumerate(values) if isinstance(value, Tensor)]
    if not (clew.is_grad_enabled() and any(values[index].requires_grad for index in indices)):
        return values, None, None
    passed = BackwardHookFunction.apply(*[values[index] for index in indices])
    node = next(tensor.grad_fn for tensor in passed if tensor.grad_fn is not None)
    wrapped = list(values)
    for index, tensor in zip(indices, passed, strict=True):
        wrapped[index] = tensor
    # A named tuple is built from its fields.
    remade = tuple(wrapped) if type(values) is tuple else type(values)(*wrapped)
    return remade, _Places(indices, len(values)), node


def _check_count(problem: str, got: Sequence[Any], expected: Grads) -> None:
    if len(got) != len(expected):
        raise RuntimeError(f"Backward {problem}, got {len(got)}, but expected {len(expected)}")
