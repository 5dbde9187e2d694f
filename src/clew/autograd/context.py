"""The context of an `autograd.Function`. It is the node itself: `ctx` in `forward` is the result's `grad_fn`.

Note [Intermediates]
`forward` runs without a graph. A value that it computes from the inputs and keeps, as an attribute of `ctx` or by
`save_for_backward`, is a constant in `backward`, and second derivatives lack a part. Such values lost their history to
`no_grad` while `forward` ran, and are no outputs. While a backward is recorded, they lead to the inputs by a node that
refuses to be differentiated. Masks, signs and detached values are constants and stay so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from .. import _core
from .._core import Node, Tensor


class FunctionCtx(Node):
    """What `forward`, `setup_context` and `backward` get as `ctx`. Attributes may be set freely.

    Tensors that `backward` needs go through `save_for_backward`: only then are they freed with the graph, checked for
    writes in place, and free of reference cycles.

    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2 * ctx.saved_tensors[0]
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
    """

    _function: Any  # the Function class
    _kind: int  # what the core knows of it
    _is_tensor: tuple[bool, ...] | None = None  # for each argument of apply; None: all are
    needs_input_grad: tuple[bool, ...] = ()
    """For each argument of `apply`, whether it needs a gradient."""
    to_save: tuple[Tensor | None, ...] = ()
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    saved_for_forward: tuple[Tensor | None, ...] | None = None
    materialize_grads: bool = True
    _sparse: dict[int, Tensor] | None = None  # places of sparse tensors among what is saved: their values are, there
    # Note [Intermediates]: attributes, and places among what is saved; and what stands for these in a backward.
    _intermediates: tuple[str, ...] = ()
    _saved_intermediates: tuple[int, ...] = ()
    _guarded: tuple[Tensor | None, ...] | None = None
    _refuse_derivative: ClassVar[Callable[..., Tensor]]  # the value behind a node that refuses; set in function.py

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (inputs, outputs, or others) for `backward`, which finds them in `saved_tensors`.

        Call it once in `forward` or `setup_context`.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, which finds them in `saved_tensors`, until it has run.

        Call it once in `forward` or `setup_context`.
        """
        if _core.dual_levels():
            self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept; within `jvp`, what `save_for_forward` did.

        Raises:
            GraphFreedError: a backward has freed it.
            InplaceError: one of them was modified in place since.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._guarded is not None:
            return self._guarded
        saved: tuple[Tensor | None, ...] = _core.function_saved_tensors(self)
        if self._sparse is not None:
            from ..sparse._gradients import with_sparse

            return with_sparse(self._sparse, saved)
        return saved

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` has modified in place. They must be among its outputs."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient. `backward` still gets an argument for each, zeros as a rule."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros for outputs that got no gradient (the default), or None."""
        self.materialize_grads = value

    def _note_intermediates(self, saved: tuple[Any, ...], before: int) -> None:
        """After `forward`; `before` is what `history_breaks` gave then."""
        is_lost = _core.is_lost_since
        kept = [name for name, one in self.__dict__.items() if isinstance(one, Tensor) and is_lost(one, before)]
        places = [i for i, one in enumerate(saved) if one is not None and is_lost(one, before)]
        if kept:
            self._intermediates = tuple(kept)
        if places:
            self._saved_intermediates = tuple(places)

    def _run_guarded(self, rule: Any, gradients: tuple[Tensor | None, ...]) -> Any:
        """Run the rule with intermediates behind a node that refuses."""
        inputs = _core.function_inputs_history(self)

        def guard(value: Tensor, what: str) -> Tensor:
            site = value._lost.site if value._lost else None
            guarded: Tensor = self._refuse_derivative(
                value,
                f"{self._function.__name__}: expected second derivatives to go through inputs and outputs of forward, "
                f"got {what}, which forward computed{f' at {site}' if site else ''} without a graph. To do: save "
                "inputs or outputs and compute it from them in backward, return it as another output, or mark "
                "backward with @once_differentiable",
                *inputs,
            )
            return guarded

        attributes = self.__dict__
        plain = {name: attributes[name] for name in self._intermediates if isinstance(attributes.get(name), Tensor)}
        if self._saved_intermediates:
            self._guarded = tuple(
                guard(one, f"saved tensor {i}") if one is not None and i in self._saved_intermediates else one
                for i, one in enumerate(self.saved_tensors)
            )
        try:
            attributes.update({name: guard(value, f"ctx.{name}") for name, value in plain.items()})
            return rule(self, *gradients)
        finally:
            attributes.update(plain)
            self._guarded = None

    def _run_backward(self, gradients: tuple[Tensor | None, ...], needed: tuple[bool, ...]) -> tuple[Any, ...]:
        """Called by the engine: from gradients of the outputs to gradients of those inputs that are tensors."""
        if self.materialize_grads and any(gradient is None for gradient in gradients):
            gradients = tuple(
                _core.function_zero_gradient(self, i) if gradient is None else gradient
                for i, gradient in enumerate(gradients)
            )
        rule = self._function._rule()
        results: tuple[Any, ...]
        if (self._intermediates or self._saved_intermediates) and _core.is_grad_enabled() and not _core.dual_levels():
            results = self._run_guarded(rule, gradients)
        else:
            results = rule(self, *gradients)
        if not isinstance(results, tuple):
            results = (results,)
        expected = len(self.needs_input_grad)
        if len(results) > expected and all(result is None for result in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)}): return one for each argument of forward, None where there is none"
            )
        kinds = self._is_tensor
        if kinds is None:
            return results
        for position, (result, is_tensor) in enumerate(zip(results, kinds, strict=True), 1):
            if result is not None and not is_tensor:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {position}, but the "
                    "corresponding forward input was not a Variable"
                )
        return tuple(result for result, is_tensor in zip(results, kinds, strict=True) if is_tensor)


def check_types(rule: str, values: tuple[Any, ...]) -> None:
    """Whether all are tensors or None.

    Raises:
        TypeError: one is not.
    """
    for position, value in enumerate(values):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"{rule} variables, but argument {position} is of type {type(value).__name__}; keep other things as "
                "attributes of ctx"
            )


def check_dirty(outputs: tuple[Any, ...], dirty: tuple[Any, ...]) -> None:
    """Whether `mark_dirty` was called with outputs.

    Raises:
        RuntimeError: it was not.
    """
    check_types("mark_dirty can only accept", dirty)
    if not all(any(value is output for output in outputs) for value in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
