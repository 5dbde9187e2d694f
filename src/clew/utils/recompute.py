"""What the non-reentrant checkpoint keeps of a function instead of its saved tensors, and how it gets these again.

Note [Recomputation]
While the checkpointed function runs, each tensor that would be saved leaves only a `Holder` in the graph. The `Frame`
knows the holders, in order and weakly, and how to run the function again. When backward asks for a tensor, the
function runs again under hooks that hand the n-th tensor saved to the n-th holder, if that is still alive; then each
holder gives its tensor up when it is asked. A holder that is asked when it has none (in a second backward) starts
another run.

Checkpoints nest: the arguments of an inner one are saved by a node, and so by the hooks of the outer one. Asking for
them runs the outer one again first.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import clew
from clew import Tensor, _core
from clew.amp.autocast_mode import in_state
from clew.autograd import Function
from clew.autograd.graph import saved_tensors_hooks


class CheckpointError(RuntimeError):
    """A checkpointed function saved other tensors when it was run again than it had saved in the forward.

    Example:
        >>> CheckpointError = torch.utils.checkpoint.CheckpointError
        >>> issubclass(CheckpointError, RuntimeError)
        True
    """


class _Stop(BaseException):
    """All that was saved is there again. No `Exception`, so that the function's own handlers let it through."""


class Holder:
    """The place of one saved tensor."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self) -> None:
        self.tensor: Tensor | None = None


class Frame:
    """One call of a checkpointed function.

    Args:
        run_again: the function, to be given the arguments.
        args: the arguments.
        early_stop: whether recomputation stops once all holders have been served.
        check: whether recomputed tensors are compared with those of the forward.
    """

    def __init__(self, run_again: Callable[..., None], args: tuple[Any, ...], early_stop: bool, check: bool) -> None:
        self.run_again, self.early_stop, self.check = run_again, early_stop, check
        self.forward_completed = False
        self.holders: list[weakref.ref[Holder]] = []
        self.described: list[dict[str, Any]] = []
        self.arguments = _Arguments(args)

    def instead_of_saving(self) -> contextlib.AbstractContextManager[None]:
        """Within it, tensors to be saved leave a holder."""

        def pack(tensor: Tensor) -> Holder:
            holder = Holder()
            self.holders.append(weakref.ref(holder))
            self.described.append(_describe(tensor))
            return holder

        return saved_tensors_hooks(pack, self._unpack)

    def _unpack(self, holder: Holder) -> Tensor:
        if holder.tensor is None:
            self._recompute()
        tensor, holder.tensor = holder.tensor, None
        if tensor is None:
            raise CheckpointError("checkpoint: recomputation ended before it reached this tensor\n" + _TIP)
        return tensor

    def _recompute(self) -> None:
        run = _Recomputation(self)
        # The arguments first: for a nested checkpoint that runs the outer function again.
        args = self.arguments.get()
        try:
            with contextlib.suppress(_Stop), saved_tensors_hooks(run.pack, lambda tensor: tensor), clew.enable_grad():
                self.run_again(*args)
            run.check()
        except BaseException:
            # What a failed run left is not to be trusted by the next backward.
            for holder in filter(None, (reference() for reference in self.holders)):
                holder.tensor = None
            raise


class _Recomputation:
    """One run of the function again: counts what is saved and hands it to the holders."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.count = 0
        self.went_beyond = False
        self.different: list[str] = []

    def pack(self, tensor: Tensor) -> Tensor:
        """Give `tensor` to the next holder; the recomputed graph keeps it too, in case that is run backward."""
        frame, index = self.frame, self.count
        tensor = tensor.detach() if tensor.requires_grad else tensor
        if index >= len(frame.holders):
            if frame.forward_completed:
                raise CheckpointError(
                    "checkpoint: trying to save more tensors during recomputation than during the original forward "
                    f"pass: expected {len(frame.holders)}\n{_TIP}"
                )
            # A backward inside the function: the forward has not come this far yet.
            self.went_beyond = True
            return tensor
        self.count += 1
        holder = frame.holders[index]()
        if holder is not None:
            holder.tensor = tensor
            before, now = frame.described[index], _describe(tensor)
            if frame.check and before != now:
                self.different.append(
                    f"tensor at position {index}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
                )
        if frame.early_stop and self.count == len(frame.holders):
            raise _Stop
        return tensor

    def check(self) -> None:
        """Raise `CheckpointError` if the run did not save what the forward saved."""
        expected = len(self.frame.holders)
        if self.count != expected and not self.went_beyond:
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {expected}\n"
                f"Number of tensors saved during recomputation: {self.count}.\n{_TIP}"
            )
        if self.different:
            raise CheckpointError(
                "checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\n{''.join(self.different)}\n{_TIP}"
            )


_TIP = (
    "The function must compute the same each time, so it must depend on its arguments only (random numbers are "
    "repeated with preserve_rng_state=True)."
)


def _describe(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class _Arguments:
    """The arguments of a function, their tensors saved by a node that is in no graph."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.tensor_at = [index for index, arg in enumerate(args) if isinstance(arg, Tensor)]
        self.others = [None if isinstance(arg, Tensor) else arg for arg in args]
        anchor = clew.empty(0, requires_grad=True)
        kept = _Keep.apply(anchor, *[args[index] for index in self.tensor_at])
        self.node: Any = kept.grad_fn

    def get(self) -> list[Any]:
        """The arguments, as they were given."""
        args = list(self.others)
        for index, tensor in zip(self.tensor_at, self.node.saved_tensors, strict=True):
            args[index] = tensor
        return args


class _Keep(Function):
    """Saves its inputs as any operation would, so that hooks see them; never run backward."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return anchor.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("checkpoint: the node that keeps arguments is in no graph")

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        return None


def as_it_was(preserve_rng_state: bool) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """A context with the autocast of now, in which random numbers go on from where they are now."""
    cast = _core.autocast_state(None)
    if not preserve_rng_state:
        return lambda: in_state(cast)
    then = _core.place_in_default_stream()

    @contextlib.contextmanager
    def again() -> Iterator[None]:
        now = _core.place_in_default_stream()
        then.enter()
        try:
            with in_state(cast):
                yield
        finally:
            then.leave(now)

    return again
