"""Hooks on all modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...utils.hooks import RemovableHandle, register
from . import hooks


def _hooks_everywhere() -> hooks.Hooks:
    if hooks.everywhere is None:
        hooks.everywhere = hooks.Hooks()
    return hooks.everywhere


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module."""
    return register(_hooks_everywhere().forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module."""
    return _hooks_everywhere().add_forward(hook, False, with_kwargs, always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return register(_hooks_everywhere().backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    return _hooks_everywhere().add_backward(hook, False, full=True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` at the last node of every module; deprecated."""
    return _hooks_everywhere().add_backward(hook, False, full=False)
