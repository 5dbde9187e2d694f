"""What happens to graphs, for those who want to be told: any number of listeners, and no cost without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _core
from .protocol import Node
from .records import Release

BackwardListener = Callable[[tuple[Node, ...], Release | None], Any]
"""Called with the roots of a backward that has ended, and the record of what it freed (None: it kept the graph)."""

BeforeListener = Callable[[tuple[Node, ...]], Any]
"""Called with the roots of a backward that is about to run."""

_listeners: list[BackwardListener] = []
_before: list[BeforeListener] = []


def listen(listener: BackwardListener) -> None:
    """Call ``listener`` after each backward, nested ones included, until :func:`stop_listening`."""
    _listeners.append(listener)
    _core.on_backward(_tell)


def stop_listening(listener: BackwardListener) -> None:
    """Undo :func:`listen`."""
    _listeners.remove(listener)
    if not _listeners:
        _core.on_backward(None)


def listen_before(listener: BeforeListener) -> None:
    """Call ``listener`` before each backward, nested ones included, until :func:`stop_listening_before`."""
    _before.append(listener)
    _core.before_backward(_tell_before)


def stop_listening_before(listener: BeforeListener) -> None:
    """Undo :func:`listen_before`."""
    _before.remove(listener)
    if not _before:
        _core.before_backward(None)


def _tell(roots: tuple[Node, ...], release: Release | None) -> None:
    for listener in list(_listeners):
        listener(roots, release)


def _tell_before(roots: tuple[Node, ...]) -> None:
    for listener in list(_before):
        listener(roots)
