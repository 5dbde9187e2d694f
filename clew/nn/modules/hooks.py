"""Hooks around a module's forward, and the call that runs them.

A module without hooks has `_hooks = None` and never comes here.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...utils.hooks import RemovableHandle, register
from .backward_hooks import BackwardHooks

if TYPE_CHECKING:
    from .module import Module


class Hook(NamedTuple):
    """A function to call, and how."""

    call: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False

    def after(self, module: Module, args: Any, kwargs: dict[str, Any], result: Any) -> Any:
        """Call as a forward hook; the result that it leaves."""
        changed = self.call(module, args, kwargs, result) if self.with_kwargs else self.call(module, args, result)
        return result if changed is None else changed


class Hooks:
    """The hooks of one module, or of all (`everywhere`), in the order in which they run."""

    def __init__(self) -> None:
        self.forward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.forward: OrderedDict[int, Hook] = OrderedDict()
        self.backward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.backward: OrderedDict[int, Hook] = OrderedDict()


everywhere: Hooks | None = None  # set when the first hook for all modules is registered


def _all(module: Module, kind: str) -> Iterator[tuple[int, Hook]]:
    """The hooks of `kind` that `module` runs: those for all modules, then its own."""
    for hooks in (everywhere, module._hooks):
        if hooks is not None:
            # A copy, because a hook may remove itself.
            yield from list(getattr(hooks, kind).items())


def call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `module.forward` with the hooks around it."""
    run = _Run(module, args, kwargs)
    try:
        return run.forward()
    except Exception:
        run.after_failure()
        raise


class _Run:
    """One call of a module with hooks: what is known when an exception comes is what `always_call` hooks get."""

    def __init__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def forward(self) -> Any:
        module = self.module
        for _, hook in _all(module, "forward_pre"):
            self._before(hook)
        backward = [hook.call for _, hook in _all(module, "backward")]
        backward_pre = [hook.call for _, hook in _all(module, "backward_pre")]
        around = BackwardHooks(module, backward, backward_pre) if backward or backward_pre else None
        if around:
            self.args = around.wrap_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook in _all(module, "forward"):
            self.called.add(key)
            self.result = hook.after(module, self.args, self.kwargs, self.result)
        if around:
            self.result = around.wrap_outputs(self.result)
        return self.result

    def _before(self, hook: Hook) -> None:
        if not hook.with_kwargs:
            changed = hook.call(self.module, self.args)
            if changed is not None:
                self.args = changed if isinstance(changed, tuple) else (changed,)
            return
        changed = hook.call(self.module, self.args, self.kwargs)
        if changed is None:
            return
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
            )
        self.args, self.kwargs = changed

    def after_failure(self) -> None:
        """Run the hooks registered with `always_call` that have not run yet; what they raise becomes a warning."""
        for key, hook in _all(self.module, "forward"):
            if not hook.always_call or key in self.called:
                continue
            try:
                self.result = hook.after(self.module, self.args, self.kwargs, self.result)
            except Exception as error:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception "
                    f"that was silenced as another error was raised in forward: {error}",
                    stacklevel=2,
                )


class HookRegistration:
    """The part of a module that takes hooks on."""

    _hooks: Hooks | None = None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; what it returns, if not None, replaces the arguments.

        With `with_kwargs` the call is `hook(module, args, kwargs)` and the answer None or `(args, kwargs)`.
        """
        return register(self._own_hooks().forward_pre, Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after each forward; what it returns, if not None, replaces the output.

        With `with_kwargs` the call is `hook(module, args, kwargs, output)`. With `always_call` the hook also runs when
        forward raised.
        """
        return register(self._own_hooks().forward, Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the module's outputs are known, before its backward.

        A tuple that it returns replaces `grad_output`.
        """
        return register(self._own_hooks().backward_pre, Hook(hook), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the module's inputs are known.

        `grad_input` has an entry for each positional argument (None where it is no tensor); a tuple that the hook
        returns replaces it. Writing in place to inputs or outputs of a module with such hooks is an error.
        """
        return register(self._own_hooks().backward, Hook(hook), prepend)

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            self._hooks = Hooks()
        return self._hooks


def _hooks_everywhere() -> Hooks:
    global everywhere
    if everywhere is None:
        everywhere = Hooks()
    return everywhere


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module."""
    return register(_hooks_everywhere().forward_pre, Hook(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module."""
    return register(_hooks_everywhere().forward, Hook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return register(_hooks_everywhere().backward_pre, Hook(hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    return register(_hooks_everywhere().backward, Hook(hook))
