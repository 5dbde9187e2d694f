"""Tells the graph's module log when a module is entered and left (`clew.graph.record_modules`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph.program.modules import modules_are_here
from .global_hooks import register_module_forward_hook, register_module_forward_pre_hook


def _hook(enter: Callable[[Any], None], leave: Callable[[Any], None]) -> Callable[[], None]:
    handles = (
        register_module_forward_pre_hook(lambda module, args: enter(module)),
        register_module_forward_hook(lambda module, args, output: leave(module), always_call=True),
    )

    def undo() -> None:
        for handle in handles:
            handle.remove()

    return undo


modules_are_here(_hook)
