"""Operations that users write: `forward` in any way that gives the values, `backward` for the gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ClassVar

from .. import _core
from .._core import Tensor
from .context import FunctionCtx, check_dirty, check_types

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

_set_grad_enabled = _core.set_grad_enabled


class Function:
    """Base class of custom operations with their derivative. Call them by `apply`.

    A subclass defines static methods:

    - `forward(ctx, *args)` computes the result, without recording. It may keep what `backward` needs:
      tensors by `ctx.save_for_backward(...)`, other things as attributes of `ctx`.
    - Or `forward(*args)` together with `setup_context(ctx, inputs, output)`, which does the keeping.
    - `backward(ctx, *grad_outputs)` returns a gradient for each argument of `forward`, None for those that need none.
      It is recorded under `create_graph=True`, so that higher derivatives work; see `once_differentiable`.

    `ctx` is the node of the graph itself: `result.grad_fn` is the object that `forward` got.

    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return grad * 2 * x
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> y = Square.apply(x)
        >>> y
        tensor(9., grad_fn=<SquareBackward>)
        >>> y.backward()
        >>> x.grad
        tensor(6.)
    """

    generate_vmap_rule: ClassVar[bool] = False
    _backward_cls: ClassVar[type[FunctionCtx]]  # created at the first apply

    def __new__(cls, *args: Any, **kwargs: Any) -> Function:
        raise RuntimeError(
            f"{cls.__name__}: a Function is not instantiated. Legacy autograd function with non-static forward method "
            f"is deprecated; make its methods static and call {cls.__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result: `forward(ctx, *args)`, or `forward(*args)` if there is a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep in `ctx` what `backward` needs; `inputs` are the arguments of `forward`, `output` is its result.

        Example:
            >>> class Square(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(x):
            ...         return x * x
            ...     @staticmethod
            ...     def setup_context(ctx, inputs, output):
            ...         ctx.save_for_backward(*inputs)
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return grad * 2 * ctx.saved_tensors[0]
            >>> x = torch.tensor(3.0, requires_grad=True)
            >>> Square.apply(x).backward()
            >>> x.grad
            tensor(6.)
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **_: Any) -> Any:
        """From gradients of the outputs to a gradient, or None, for each argument of `forward`."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward  # another name for it: a subclass defines one of the two

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any, **_: Any) -> Any:
        """From tangents of the arguments of `forward` to those of its outputs: the derivative in forward mode.

        It finds what `ctx.save_for_forward` kept in `ctx.saved_tensors`, and gets zeros for tensors without a tangent,
        None for what is no tensor. It runs right after `forward`.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The operation on a batch, for `vmap`. With `generate_vmap_rule = True` it follows from the other methods.

        Args:
            info: `batch_size` and `randomness`.
            in_dims: for each argument the axis of its samples, or None; trees as the arguments are.
            args: the arguments, with the batch.

        Returns:
            The output and, in the same structure, the axes of its samples.
        """
        raise NotImplementedError("Function.vmap: expected a subclass to override it, or generate_vmap_rule = True")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record a node with `backward` as its rule.

        Args:
            args: anything; tensors among them are the inputs of the node. Arguments by name count as in the order of
                `forward`.

        Returns:
            What `forward` returned. An input that it returned unchanged comes back as a new tensor.

        Example:
            >>> class Double(torch.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return x * 2
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         return grad * 2
            >>> Double.apply(torch.tensor(3.0, requires_grad=True))
            tensor(6., grad_fn=<DoubleBackward>)
        """
        separate = cls.setup_context is not Function.setup_context
        if kwargs:
            args = _positional(cls, args, kwargs, separate)
        if _core.is_interpreted() and _core.active_batches():
            from ..func._rules import innermost_batch

            if batch := innermost_batch(args):
                from ._function_vmap import apply_vmapped

                return apply_vmapped(cls, Function, batch, tuple(args))
        inputs: list[Tensor] = []
        needs: list[bool] = []
        for arg in args:
            if isinstance(arg, Tensor):
                inputs.append(arg)
                needs.append(arg.requires_grad)
            else:
                needs.append(False)
        ctx = (cls.__dict__.get("_backward_cls") or _make_context_class(cls))()
        ctx.needs_input_grad = tuple(needs)
        if len(inputs) != len(needs):
            ctx._is_tensor = tuple(isinstance(arg, Tensor) for arg in args)
        if _core.is_interpreted():
            run = partial(_run, cls, ctx, args, inputs, True in needs)
            call = partial(_core.function_call, cls.__name__, tuple(inputs), run)
            if _core.dual_levels():
                from ._function_tangents import run_with_tangents

                return run_with_tangents(cls, ctx, args, call)
            return call()
        return _run(cls, ctx, args, inputs, True in needs)

    @classmethod
    def _rule(cls) -> Callable[..., Any]:
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return cls.vjp


def _run(cls: type[Function], ctx: FunctionCtx, args: Any, inputs: list[Tensor], needs_grad: bool) -> Any:
    recording = _set_grad_enabled(False)
    before = _core.history_breaks()
    try:
        if cls.setup_context is Function.setup_context:
            result = cls.forward(ctx, *args)
        else:
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
    finally:
        _set_grad_enabled(recording)
    return _record(ctx, tuple(inputs), result, recording and needs_grad, before)


def _make_context_class(cls: type[Function]) -> type[FunctionCtx]:
    name = cls.__name__ + "Backward"
    fields = {"_function": cls, "_kind": _core.function_kind(name), "__module__": getattr(cls, "__module__", None)}
    cls._backward_cls = made = type(name, (FunctionCtx,), fields)
    return made


def _positional(cls: type[Function], args: Any, kwargs: Any, separate: bool) -> tuple[Any, ...]:
    """The arguments in the order of `forward`."""
    import inspect

    context = () if separate else (None,)
    bound = inspect.signature(cls.forward).bind(*context, *args, **kwargs)
    if separate or bound.kwargs:
        bound.apply_defaults()
    return bound.args[len(context) :]


def _record(ctx: FunctionCtx, inputs: tuple[Tensor, ...], result: Any, records: bool, before: int) -> Any:
    several = isinstance(result, tuple)
    outputs = tuple(result) if several else (result,)
    # The node's slots hold them from now on, so the context lets go.
    attributes = ctx.__dict__
    saved = attributes.pop("to_save", ())
    dirty, constant = attributes.pop("dirty_tensors", ()), attributes.pop("non_differentiable", ())
    tensors = tuple([output if isinstance(output, Tensor) else None for output in outputs])
    if dirty:
        check_dirty(outputs, dirty)
    if _core.sparse_made():
        from ..sparse._gradients import without_sparse

        saved = without_sparse(ctx, inputs, outputs, saved)
    try:
        made = _core.function_record(ctx, inputs, tensors, saved, dirty, constant, records)
    except TypeError:
        check_types("save_for_backward can only save", saved)
        check_types("mark_non_differentiable can only accept", constant)
        raise
    if records:
        ctx._note_intermediates(saved, before)
    if not several:
        return result if made[0] is None else made[0]
    return tuple([old if new is None else new for new, old in zip(made, outputs, strict=True)])


class Intermediate(Function):
    """A value that `forward` computed, in a backward that is recorded: nobody knows its derivative."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, said: str, *inputs: Tensor) -> Tensor:
        ctx.said = said
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(ctx.said)


FunctionCtx._refuse_derivative = staticmethod(Intermediate.apply)


class _Once(Function):
    """Stands between a gradient and its own backward, which is refused."""

    @staticmethod
    def forward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return tuple(gradient.view_as(gradient) for gradient in gradients)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable; write its backward "
            "with operations that can be differentiated and remove the mark"
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot itself be differentiated: second derivatives then fail instead of being wrong.

    Example:
        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     @torch.autograd.function.once_differentiable
        ...     def backward(ctx, grad):
        ...         x = ctx.saved_tensors[0].numpy(force=True)
        ...         return grad * torch.from_numpy(2 * x)
        >>> x = torch.ones(1, requires_grad=True)
        >>> torch.autograd.grad(Square.apply(x), x)
        (tensor([2.]),)
    """

    @wraps(fn)
    def wrapper(ctx: Any, *gradients: Any) -> Any:
        recording = _set_grad_enabled(False)
        try:
            results = fn(ctx, *gradients)
        finally:
            _set_grad_enabled(recording)
        if not recording or not any(isinstance(g, Tensor) and g.requires_grad for g in gradients):
            return results
        several = results if isinstance(results, tuple) else (results,)
        places = [i for i, result in enumerate(several) if result is not None]
        # Leaves of their own, so that whoever differentiates the gradients meets _Once first.
        guarded = _Once.apply(*[several[i].detach().requires_grad_() for i in places])
        finished = list(several)
        for place, value in zip(places, guarded, strict=True):
            finished[place] = value
        return tuple(finished) if isinstance(results, tuple) else finished[0]

    return wrapper
