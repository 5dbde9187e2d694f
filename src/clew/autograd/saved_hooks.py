"""The stack of `saved_tensors_hooks`, one for each thread. The core asks it when a node saves a tensor."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]


class _Hooks(threading.local):
    def __init__(self) -> None:
        # A tuple, so that a block sets an attribute and sets it back, which clew.compile can follow.
        self.stack: tuple[tuple[Pack, Unpack], ...] = ()
        self.refusal: str | None = None  # what disable_saved_tensors_hooks says


_hooks = _Hooks()


def push(pack_hook: Pack, unpack_hook: Unpack) -> None:
    """Make these the innermost hooks.

    Raises:
        RuntimeError: hooks are disabled.
    """
    if _hooks.refusal is not None:
        raise RuntimeError(_hooks.refusal)
    _hooks.stack = (*_hooks.stack, (pack_hook, unpack_hook))
    _core.set_mode("saved_hooks", True)


def pop() -> None:
    """Drop the innermost hooks."""
    _hooks.stack = _hooks.stack[:-1]
    if not _hooks.stack:
        _core.set_mode("saved_hooks", False)


def disable(message: str | None) -> str | None:
    """Refuse hooks with this message, or allow them with None; return what was set before.

    Raises:
        RuntimeError: with the message, if there are hooks already.
    """
    if message is not None and _hooks.stack:
        raise RuntimeError(message)
    before, _hooks.refusal = _hooks.refusal, message
    return before


def active() -> bool:
    """Whether there are hooks in this thread."""
    return bool(_hooks.stack)


def pack(tensor: Tensor) -> tuple[Any, Unpack]:
    """What the innermost hooks make of a tensor that is to be saved, and how to get it back."""
    pack_hook, unpack_hook = _hooks.stack[-1]
    recording = _core.set_grad_enabled(False)
    try:
        packed = pack_hook(tensor)
    finally:
        _core.set_grad_enabled(recording)
    return packed, unpack_hook
