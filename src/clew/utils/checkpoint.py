"""Trading time for memory: what a function saves for backward is dropped, and computed again when backward needs it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import clew
from clew import Tensor
from clew.autograd import Function

from .._unsupported import missing_from as _missing_from
from .recompute import CheckpointError, Frame, as_it_was

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "set_checkpoint_early_stop"]

Contexts = tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]

_early_stop: bool | None = None  # what set_checkpoint_early_stop asks for


def noop_context_fn() -> Contexts:
    """No contexts around the forward and the recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Say for all checkpoints made inside whether recomputation stops as soon as it has all that was saved.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     y = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
        >>> y.sum().backward()
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose graph keeps the arguments only; backward runs the function again.

    Args:
        function: what to run. It must do the same when it is run again.
        use_reentrant: False (recommended): recompute when backward first needs something that the function would have
            saved. True: an inner backward inside the outer one; then only `.backward()` without `inputs` works,
            keyword arguments are not taken, and some argument has to require a gradient.
        context_fn: gives two context managers, for the forward and for the recomputation.
        determinism_check: "default" compares shape, dtype and device of what was saved; "none" does not.
        debug: not supported.
        early_stop: stop recomputing once all that was saved is there.
        preserve_rng_state: draw the same random numbers again.

    Raises:
        CheckpointError: in backward, if the function did not do the same again.
        ValueError: options that do not go together.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint(lambda t: t.exp().log(), x, use_reentrant=False).sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    if use_reentrant is None:
        warnings.warn(
            "clew.utils.checkpoint: the use_reentrant parameter should be passed explicitly; "
            "use_reentrant=False is recommended, the default is True.",
            stacklevel=2,
        )
    if use_reentrant is False:
        return _checkpoint_by_hooks(
            function, args, kwargs, context_fn, determinism_check, debug, early_stop, preserve_rng_state
        )
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if clew.is_grad_enabled() and not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


def _checkpoint_by_hooks(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    context_fn: Callable[[], Contexts],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
    preserve_rng_state: bool,
) -> Any:
    if debug:
        raise NotImplementedError("checkpoint: debug=True is not supported; leave it off")
    if determinism_check not in ("default", "none"):
        raise ValueError(f'determinism_check should be one of "default", "none", but got {determinism_check}')
    in_forward, in_recomputation = context_fn()
    if not clew.is_grad_enabled():
        return function(*args, **kwargs)
    again = as_it_was(preserve_rng_state)

    def run_again(*args: Any) -> None:
        with again(), in_recomputation:
            function(*args, **kwargs)

    stop = early_stop if _early_stop is None else _early_stop
    frame = Frame(run_again, args, stop, check=determinism_check == "default")
    with frame.instead_of_saving(), in_forward:
        result = function(*args, **kwargs)
    frame.forward_completed = True
    return result


class CheckpointFunction(Function):
    """The reentrant variant: forward without recording; backward records it and runs a backward of its own."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Run `function` without recording, and keep its arguments."""
        ctx.function, ctx.again = function, as_it_was(preserve_rng_state)
        ctx.tensor_at = [index for index, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.others = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.save_for_backward(*[args[index] for index in ctx.tensor_at])
        with clew.no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        """Run `function` again, recording, and take the gradients through it."""
        if not clew.autograd._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for index, tensor in zip(ctx.tensor_at, ctx.saved_tensors, strict=True):
            inputs[index] = tensor.detach().requires_grad_(tensor.requires_grad)
        with ctx.again(), clew.enable_grad():
            outputs = ctx.function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        clew.autograd.backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return None, None, *(value.grad if isinstance(value, Tensor) else None for value in inputs)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Tensor,
    use_reentrant: bool | None = None,
    *,
    preserve_rng_state: bool = True,
) -> Tensor:
    """Apply `functions` (or the modules of a `Sequential`) one after the other, in checkpointed segments.

    The last segment is not checkpointed: its graph is used at once.

    Raises:
        ValueError: more segments than functions, or none.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> y = torch.utils.checkpoint.checkpoint_sequential([torch.exp, torch.log], 2, x, use_reentrant=False)
        >>> y.sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    if use_reentrant is None:
        warnings.warn(
            "clew.utils.checkpoint: the use_reentrant parameter should be passed explicitly; "
            "use_reentrant=False is recommended, the default is True.",
            stacklevel=2,
        )
        use_reentrant = True
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(
            f"checkpoint_sequential: expected between 1 and {len(functions)} segments, one for each function at most, "
            f"got {segments}"
        )
    size = len(functions) // segments
    for number in range(segments - 1):
        part = _chain(functions[number * size : (number + 1) * size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return _chain(functions[(segments - 1) * size :])(input)


def _chain(functions: Sequence[Callable[[Tensor], Tensor]]) -> Callable[[Tensor], Tensor]:
    def run(input: Tensor) -> Tensor:
        for function in functions:
            input = function(input)
        return input

    return run


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Two empty lists: no tensor is on a device that has a generator of its own.

    Example:
        >>> torch.utils.checkpoint.get_device_states(torch.ones(2))
        ([], [])
    """
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Any], *, device_type: str | None = None) -> None:
    """Give devices' generators the states that `get_device_states` found: none.

    Raises:
        NotImplementedError: a device is named.
    """
    if devices:
        raise NotImplementedError("set_device_states: the CPU is the only device; use set_rng_state for its generator")


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, tensors without their history; they require gradients if they did.

    Raises:
        RuntimeError: `inputs` is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable: expected a tuple of tensors, got {type(inputs).__name__}")
    return tuple(one.detach().requires_grad_(one.requires_grad) if isinstance(one, Tensor) else one for one in inputs)


def check_backward_validity(inputs: Any) -> None:
    """Warn if no input requires a gradient."""
    if not any(isinstance(one, Tensor) and one.requires_grad for one in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


__getattr__ = _missing_from(__name__)
