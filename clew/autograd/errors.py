"""Errors of the graph that say in fields, too, which node and which lines of the user's code are concerned.

All are `RuntimeError`s. A field is None when it is not known.
"""

from __future__ import annotations

from .._core import Node, Site


class GraphFreedError(RuntimeError):
    """A backward needs what an earlier one has freed.

    >>> import clew
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
    freed_at: Site | None = None
    """The line of the `backward()` or `grad()` that freed it."""


class InplaceError(RuntimeError):
    """A tensor that a node saved was written in place afterwards, so that the gradient would be wrong."""

    node: Node | None = None
    """The node that saved it."""
    made_at: Site | None = None
    """The line that made the node."""
    saved_at: Site | None = None
    """The line that saved the tensor: the node's."""
    written_by: str | None = None
    """The operation that wrote last to the saved memory."""
    written_at: Site | None = None
    """The line of that write."""


class NoGradError(RuntimeError):
    """A backward was asked of something that has no history."""

    lost_at: Site | None = None
    """The first line where history was lost on the way to it."""
    cause: str | None = None
    """How: "detach", "no_grad", "cast to int64", "data", "from_numpy" ..."""


class NonFiniteError(RuntimeError):
    """Under `detect_anomaly`: a gradient is infinite or not a number."""

    node: Node | None = None
    """The first node that returned one."""
    made_at: Site | None = None
    """The line that made it."""
