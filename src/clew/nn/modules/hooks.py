"""Hooks around a module's forward, and the call that runs them.

A module that has none and is not compiled has `_hooks = None` and never comes here.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clew import Tensor

from ...utils.hooks import RemovableHandle, register
from .backward_hooks import BackwardHooks

if TYPE_CHECKING:
    from .module import Module

Table = OrderedDict[int, Callable[..., Any]]  # hooks by the ids of their handles, in the order in which they run


class Hooks:
    """The hooks of one module, or of all (`everywhere`)."""

    def __init__(self) -> None:
        self.forward_pre: Table = OrderedDict()
        self.forward: Table = OrderedDict()
        self.backward_pre: Table = OrderedDict()
        self.backward: Table = OrderedDict()
        self.full: bool | None = None  # of which of the two kinds `backward` is
        # How some are called, by their ids.
        self.forward_pre_with_kwargs: dict[int, bool] = {}
        self.forward_with_kwargs: dict[int, bool] = {}
        self.always_called: dict[int, bool] = {}

    def add_forward(self, hook: Callable[..., Any], prepend: bool, with_kwargs: bool, always: bool) -> RemovableHandle:
        """Add a hook that runs after forward."""
        handle = register(self.forward, hook, prepend)
        self.forward_with_kwargs |= {handle.id: True} if with_kwargs else {}
        self.always_called |= {handle.id: True} if always else {}
        return handle

    def add_backward(self, hook: Callable[..., Any], prepend: bool, full: bool) -> RemovableHandle:
        """Add a hook that runs in backward."""
        if self.full is not None and self.full is not full and self.backward:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self.full = full
        return register(self.backward, hook, prepend)


everywhere: Hooks | None = None  # set when the first hook for all modules is registered


def _sets(module: Module) -> Iterator[Hooks]:
    """The hooks that `module` runs: those for all modules, then its own."""
    return (hooks for hooks in (everywhere, module._hooks) if hooks is not None)


def call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run what `Module.compile` has made, or `module.forward` with the hooks around it."""
    if module._compiled_call_impl is not None:
        return module._compiled_call_impl(*args, **kwargs)
    return call_eagerly(module, args, kwargs)


def call_eagerly(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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
        # Tables are copied, because a hook may remove itself.
        for hooks in _sets(module):
            for key, hook in list(hooks.forward_pre.items()):
                self._before(hook, key in hooks.forward_pre_with_kwargs)
        backward = [hook for hooks in _sets(module) if hooks.full is not False for hook in hooks.backward.values()]
        backward_pre = [hook for hooks in _sets(module) for hook in hooks.backward_pre.values()]
        around = BackwardHooks(module, backward, backward_pre) if backward or backward_pre else None
        if around:
            self.args = around.wrap_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for hooks in _sets(module):
            for key, hook in list(hooks.forward.items()):
                self.called.add(key)
                self._after(hook, key in hooks.forward_with_kwargs)
        if around:
            self.result = around.wrap_outputs(self.result)
        regular = [hook for hooks in _sets(module) if hooks.full is False for hook in hooks.backward.values()]
        if regular:
            _hook_last_node(module, regular, self.args, self.result)
        return self.result

    def _before(self, hook: Callable[..., Any], with_kwargs: bool) -> None:
        if not with_kwargs:
            changed = hook(self.module, self.args)
            if changed is not None:
                self.args = changed if isinstance(changed, tuple) else (changed,)
            return
        changed = hook(self.module, self.args, self.kwargs)
        if changed is None:
            return
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
            )
        self.args, self.kwargs = changed

    def _after(self, hook: Callable[..., Any], with_kwargs: bool) -> None:
        given = (self.args, self.kwargs) if with_kwargs else (self.args,)
        changed = hook(self.module, *given, self.result)
        self.result = self.result if changed is None else changed

    def after_failure(self) -> None:
        """Run the hooks registered with `always_call` that have not run yet; what they raise becomes a warning."""
        for hooks in _sets(self.module):
            for key, hook in list(hooks.forward.items()):
                if key not in hooks.always_called or key in self.called:
                    continue
                try:
                    self._after(hook, key in hooks.forward_with_kwargs)
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception "
                        f"that was silenced as another error was raised in forward: {error}",
                        stacklevel=2,
                    )


def _hook_last_node(module: Module, hooks: list[Callable[..., Any]], args: tuple[Any, ...], result: Any) -> None:
    """Regular backward hooks see the gradients of the last node that forward made, whatever that is."""
    first = result
    while not isinstance(first, Tensor):
        values = first.values() if isinstance(first, Mapping) else first
        first = next((value for value in values if isinstance(value, Tensor | Mapping | tuple | list)), None)
        if first is None:
            return
    node = first.grad_fn
    if node is None:
        return
    below = {function for function, _ in node.next_functions}
    if {arg.grad_fn for arg in args if isinstance(arg, Tensor) and arg.grad_fn} != below:
        warnings.warn(
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will "
            "be removed in future versions. This hook will be missing some grad_input. Please use "
            "register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )
    for hook in hooks:
        node.register_hook(functools.partial(hook, module))


def _table(kind: str) -> Any:
    """The hooks of one kind as an attribute, by PyTorch's name: to look at, empty or replace."""

    def get(module: HookRegistration) -> Any:
        return getattr(module._own_hooks(), kind)

    def put(module: HookRegistration, hooks: Any) -> None:
        setattr(module._own_hooks(), kind, hooks if isinstance(hooks, OrderedDict) else OrderedDict(hooks))

    return property(get, put)


class HookRegistration:
    """The part of a module that takes hooks on."""

    _hooks: Hooks | None = None
    _forward_pre_hooks = _table("forward_pre")
    _forward_hooks = _table("forward")
    _backward_pre_hooks = _table("backward_pre")
    _backward_hooks = _table("backward")
    _forward_pre_hooks_with_kwargs = _table("forward_pre_with_kwargs")
    _forward_hooks_with_kwargs = _table("forward_with_kwargs")
    _forward_hooks_always_called = _table("always_called")

    @property
    def _is_full_backward_hook(self) -> bool | None:
        return None if self._hooks is None else self._hooks.full

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; what it returns, if not None, replaces the arguments.

        With `with_kwargs` the call is `hook(module, args, kwargs)` and the answer None or `(args, kwargs)`.

        Example:
            >>> layer = torch.nn.ReLU()
            >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] - 1,))
            >>> layer(torch.tensor([0.5, 3.0]))
            tensor([0., 2.])
        """
        hooks = self._own_hooks()
        handle = register(hooks.forward_pre, hook, prepend)
        hooks.forward_pre_with_kwargs |= {handle.id: True} if with_kwargs else {}
        return handle

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

        Example:
            >>> layer = torch.nn.Linear(2, 1)
            >>> handle = layer.register_forward_hook(lambda module, args, output: print(tuple(output.shape)))
            >>> y = layer(torch.ones(5, 2))
            (5, 1)
            >>> handle.remove()
        """
        return self._own_hooks().add_forward(hook, prepend, with_kwargs, always_call)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the module's outputs are known, before its backward.

        A tuple that it returns replaces `grad_output`.

        Example:
            >>> layer = torch.nn.ReLU()
            >>> handle = layer.register_full_backward_pre_hook(lambda module, grad_output: print(grad_output))
            >>> layer(torch.tensor([1.0, -1.0], requires_grad=True)).sum().backward()
            (tensor([1., 1.]),)
        """
        return register(self._own_hooks().backward_pre, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the module's inputs are known.

        `grad_input` has an entry for each positional argument (None where it is no tensor); a tuple that the hook
        returns replaces it. Writing in place to inputs or outputs of a module with such hooks is an error.

        Example:
            >>> layer = torch.nn.ReLU()
            >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input))
            >>> layer(torch.tensor([1.0, -1.0], requires_grad=True)).sum().backward()
            (tensor([1., 0.]),)
        """
        return self._own_hooks().add_backward(hook, prepend, full=True)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` at the last node that forward made; deprecated.

        Of a module that makes several nodes these are not the module's gradients: use `register_full_backward_hook`.
        """
        return self._own_hooks().add_backward(hook, False, full=False)

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            self._hooks = Hooks()
        return self._hooks
