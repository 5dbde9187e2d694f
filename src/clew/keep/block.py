"""The block whose operations are kept."""

from __future__ import annotations

from types import TracebackType

from .. import _core
from ..autograd.errors import KeepError
from ..nn.parameter import Parameter
from ..optim import optimizer
from .program import Program


class keep_graph:
    """Record what runs in the block, so that it can be run again with other data.

    Inside, everything runs as always, and is recorded: forward, views, writes in place, random draws, Functions,
    `backward()`, optimizer steps. Afterwards `y.forward()` computes a tensor `y` of the block again, from the present
    values of the tensors that the block did not create. It also makes the graph of `y` ready for `y.backward()`.
    `program.run()` runs the whole block.

    Args:
        code: let the system's C compiler compile small elementwise calls, as `clew.compile` does.

    Raises:
        KeepError: at the end of the block, if the block did something that running its operations again would not
            repeat.
        NotImplementedError: blocks in one another, or on two threads at once.

    Example:
        >>> a = clew.ones(2, requires_grad=True)
        >>> with clew.keep_graph() as program:
        ...     y = (a * a).sum()
        >>> a.data = clew.tensor([3.0, 4.0])
        >>> y.forward()
        tensor(25., grad_fn=<SumBackward0>)
        >>> y.backward()
        >>> a.grad
        tensor([6., 8.])
    """

    def __init__(self, *, code: bool = True) -> None:
        self._program: Program | None = None
        self._coded = code

    def __enter__(self) -> Program:
        if self._program is not None:
            raise RuntimeError("keep_graph: expected a new one for each block, as in `with clew.keep_graph():`")
        self._program = program = Program(code=self._coded)
        program._core.begin()
        optimizer.watchers.append(self._after_step)
        return program

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._program is None:
            raise RuntimeError("keep_graph: expected a block that was entered, as by `with clew.keep_graph():`")
        optimizer.watchers.remove(self._after_step)
        reasons = self._program._core.end(kind is None, Parameter)
        if kind is not None or not reasons:
            return
        lines = [f"{text}{f' (at {site})' if site else ''}" for text, site in dict.fromkeys(reasons)]
        failure = KeepError("keep_graph: this block can't be run again: " + "; ".join(lines))
        failure.reasons = tuple(reasons)
        raise failure

    def _after_step(self, one: optimizer.Optimizer, before: int) -> None:
        assert self._program is not None
        self._program._note_options(one)
        if one._count_state() != before:
            _core.announce_once(
                f"{type(one).__name__} makes its state in this step, which is done once: a second run would begin it "
                "again. To do: keep a later step"
            )
