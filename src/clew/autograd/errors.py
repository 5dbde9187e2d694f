"""Errors of the graph that say in fields, too, which node and which lines of the user's code are concerned.

All are `RuntimeError`s. A field is None when it is not known. `docs/errors.md` shows them beside PyTorch's.
"""

from __future__ import annotations

import re
from typing import Any

from .._core import Node, Site, Tensor

__all__ = [
    "BudgetError",
    "GraphFreedError",
    "InplaceError",
    "KeepError",
    "KeepWarning",
    "NoGradError",
    "NonFiniteError",
    "ProgramError",
    "ReplayError",
]

_PARTS = re.compile(r" (?=Expected: |Got: |The last write |Its history was lost |To do: )")


_INPUT = re.compile("^expected (input [0-9]+)")


class _GraphError(RuntimeError):
    """Its text has each part in a line of its own: what happened, what was expected, what was got, what to do."""

    def __str__(self) -> str:
        return _PARTS.sub("\n", super().__str__())


class GraphFreedError(_GraphError):
    """A backward needs saved tensors that an earlier one has freed.

    Example:
        >>> x = clew.ones(1, requires_grad=True)
        >>> y = x.exp()
        >>> y.backward()
        >>> try:
        ...     y.backward()
        ... except clew.autograd.errors.GraphFreedError as error:
        ...     error.node.name()
        'ExpBackward0'
    """

    node: Node | None = None
    """The node whose saved tensors are gone."""
    made_at: Site | None = None
    """The line that made it."""
    saved_at: Site | None = None
    """The line that saved the tensors: the same."""
    freed_at: Site | None = None
    """The line of the call that freed them."""
    freed_by: str | None = None
    """Which call it was: "backward" or "grad"."""
    shared_at: Site | None = None
    """The line that made the value at which this graph enters the freed one: what is to be made again, or detached.
    None when it is not another graph but the same one, run twice."""
    shared_name: str | None = None
    """What the running code calls that value: "h", "self.state", "features[0]"."""
    used_at: Site | None = None
    """The line that used it, in the part of the graph that is new."""
    advice: str = (
        "compute this value again before each backward. Specify retain_graph=True in the call that freed it if you "
        "need to backward through the graph a second time."
    )
    """The smallest repair; the message ends with it."""

    _carried: Any = None  # how the loop that is running carries the shared value, where it is to be detached
    _may_be_detached = False  # whether the backward could run and give what was asked for without the shared value
    _may_be_retained = True  # whether nothing has written to the graph's leaves since it was freed
    _youngest = 0  # the sequence number of the youngest root of the backward that freed the node

    def __str__(self) -> str:
        return f"{super().__str__()}\nTo do: {self.advice}"


class InplaceError(_GraphError):
    """A tensor that a node saved was modified in place afterwards, so that the gradient would be wrong.

    Example:
        >>> y = clew.ones(1, requires_grad=True).exp()
        >>> z = y.add_(1)
        >>> try:
        ...     z.backward()
        ... except clew.autograd.errors.InplaceError as error:
        ...     error.node.name(), error.saved_name, error.written_by
        ('ExpBackward0', 'result', 'add_')
    """

    node: Node | None = None
    """The node that saved it."""
    made_at: Site | None = None
    """The line that made the node."""
    saved_at: Site | None = None
    """The line that saved the tensor: the node's."""
    saved_name: str | None = None
    """Which of the node's tensors it is: "self", "other", "result" ..."""
    tensor_name: str | None = None
    """What the running code calls a tensor with that memory: "h", "model.3.weight"."""
    written_by: str | None = None
    """The operation that wrote last to what was saved; if none touched the saved elements themselves, that wrote last
    to the memory that shares their version counter."""
    written_at: Site | None = None
    """The line of that write."""
    shared_at: Site | None = None
    """If an optimizer wrote it, and the loss was computed since: the line that made the value at which the loss enters
    the graph from before the step, as a hidden state that was not detached."""
    shared_name: str | None = None
    """What the running code calls that value: "h", "self.state"."""
    used_at: Site | None = None
    """The line that used it after the step."""

    _carried: Any = None  # how the loop that is running carries the shared value, where it is to be detached
    _writer = ""  # the optimizer's step that wrote, as the user's line calls it
    _advice = ""  # instead of that at the end of the message

    def __str__(self) -> str:
        what, line, rest = super().__str__().partition("\n")
        if self._writer:
            rest = rest.replace(f"'{self.written_by}'", f"`{self._writer}`", 1)
        if self._advice:
            rest = f"{rest.rpartition('To do: ')[0]}To do: {self._advice}"
        return f"{what} `{self.tensor_name}` has this memory.{line}{rest}" if self.tensor_name else what + line + rest


class NoGradError(_GraphError):
    """A backward was called on a tensor without history.

    Example:
        >>> x = clew.ones(1, requires_grad=True)
        >>> try:
        ...     (x.detach() * 2).backward()
        ... except clew.autograd.errors.NoGradError as error:
        ...     error.cause
        'detach'
    """

    lost_at: Site | None = None
    """The first line where history was lost on the way to it."""
    cause: str | None = None
    """How: "detach", "no_grad", "cast to int64", "data", "from_numpy", "item", "requires_grad=False",
    "constant gradient" (taken with `create_graph`, but of what is linear), or the name of an operation whose result has
    no derivative ("argmax", "gt")."""
    number_read_at: Site | None = None
    """Only when no cause is known: the line that last read a Python number from a tensor with history. It is a hint: a
    number that was computed from that one does not say where it comes from."""
    number_read_by: str | None = None
    """How that number was read: "item", "float" or "tolist"."""


class NonFiniteError(_GraphError):
    """Under `detect_anomaly`: a gradient is infinite or not a number.

    Example:
        >>> import warnings
        >>> x = clew.zeros(1, requires_grad=True)
        >>> with warnings.catch_warnings(action="ignore"), clew.autograd.detect_anomaly():
        ...     try:
        ...         x.sqrt().backward()
        ...     except clew.autograd.errors.NonFiniteError as error:
        ...         error.node.name()
        'SqrtBackward0'
    """

    node: Node | None = None
    """The first node that returned one."""
    made_at: Site | None = None
    """The line that made it."""
    through_where: Site | None = None
    """The line of the `where` (or `masked_fill`) that did not choose the branch which the gradient came through."""
    incoming_was_zero: bool = False
    """Whether a zero came in where something went out that is not finite: zero times an infinite derivative."""


class KeepError(RuntimeError):
    """A block of `clew.keep_graph()` did something that running its operations again would not repeat.

    `reasons` are pairs of a text and a line.

    Example:
        >>> w = clew.ones(2, requires_grad=True)
        >>> loss = (w * w).sum()
        >>> try:
        ...     with clew.keep_graph():
        ...         loss.backward()
        ... except clew.KeepError as error:
        ...     text, site = error.reasons[0]
        >>> text
        'runs a backward through SumBackward0, which was made before the block; make the whole graph inside'
    """

    reasons: tuple[tuple[str, Site | None], ...] = ()


class BudgetError(RuntimeError):
    """What graphs have to keep is more than `clew.memory.budget` allows, whatever is dropped.

    Example:
        >>> w = clew.ones(1000, requires_grad=True)
        >>> try:
        ...     with clew.memory.budget(1000):
        ...         loss = w.exp().sum()
        ... except clew.BudgetError as error:
        ...     print(error.least)
        4000
    """

    least: int = 0
    """The bytes that are needed for what has run so far, and for the backward that was refused. A later backward of the
    same block may need more, and is refused then."""


class ReplayError(RuntimeError):
    """A kept program can't be replayed: an input or a value that Python read differs, or a step fails.

    Nothing has been changed.

    Example:
        >>> x = clew.ones(2)
        >>> with clew.keep_graph() as program:
        ...     y = x.sum()
        >>> x.data = clew.ones(3)  # another shape
        >>> try:
        ...     program.run()
        ... except clew.ReplayError as error:
        ...     print(error.input_name, error.recorded_shape, error.got_shape)
        x (2,) (3,)
        >>> y
        tensor(2.)
    """

    site: Site | None = None
    """The line of the recorded run."""
    input: Tensor | None = None
    """The input that is not as it was."""
    is_grad: bool = False
    """Whether it is not the input itself that differs, but its `.grad`, which the program reads."""
    input_name: str | None = None
    """What the program or else the running code calls that input: "x", "model.0.weight"."""
    recorded_shape: tuple[int, ...] | None = None
    """The shape that it had in the recorded run, if it has another one now."""
    got_shape: tuple[int, ...] | None = None
    """The shape that it has."""

    def __str__(self) -> str:
        name = f"`{self.input_name}{'.grad' if self.is_grad else ''}`"
        return _INPUT.sub(rf"expected {name} (\1)", super().__str__()) if self.input_name else super().__str__()


class ProgramError(ReplayError):
    """A file is no program or graph of clew, it is damaged, or its program can't be run.

    A loaded program raises it from `run()` and `forward()`, too, where a recorded one raises a `ReplayError`.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "program.clew")
        >>> with open(path, "wb") as file:
        ...     _ = file.write(b"something else")
        >>> try:
        ...     clew.load_program(path)
        ... except clew.ProgramError as error:
        ...     print(type(error).__name__)
        ProgramError
    """


class KeepWarning(UserWarning):
    """A compiled function stays eager; the message names the cause and its line.

    Or a kept program runs with the recorded value of an optimizer's option, which has changed since.

    Example:
        >>> issubclass(clew.KeepWarning, UserWarning)
        True
    """
