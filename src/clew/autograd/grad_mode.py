"""Whether operations are recorded: contexts that are decorators too. Modes belong to the thread that enters them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, overload

from .. import _core

_F = TypeVar("_F", bound=Callable[..., Any])
_Self = TypeVar("_Self", bound="Mode")
_GENERATOR = 0x20  # inspect.CO_GENERATOR, without importing inspect

_set_grad_enabled = _core.set_grad_enabled
is_grad_enabled = _core.is_grad_enabled


class Mode:
    """A context that can decorate a function: each call of the function runs in a fresh context."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc_info: object) -> None:
        raise NotImplementedError

    def clone(self: _Self) -> _Self:
        """A fresh context of the same kind."""
        return type(self)()

    def __call__(self, function: _F) -> _F:
        """Decorate a function, or a generator function, which then runs in the mode but is consumed outside it."""
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:
            consumed: _F = _decorate_generator(self, function)
            return consumed

        @wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return decorated  # type: ignore[return-value]


def _decorate_generator(mode: Mode, function: Any) -> Any:
    @wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with mode.clone():
            generator = function(*args, **kwargs)
        try:
            with mode.clone():
                value = next(generator)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    with mode.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    with mode.clone():
                        value = generator.throw(error)
                else:
                    with mode.clone():
                        value = generator.send(sent)
        except StopIteration as end:
            return end.value

    return decorated


class _Plain(Mode):
    """A mode without arguments: `@no_grad` decorates as well as `@no_grad()`."""

    __slots__ = ()

    @overload
    def __new__(cls) -> _Plain: ...
    @overload
    def __new__(cls, function: _F) -> _F: ...  # type: ignore[misc]  # as a decorator it gives a function
    def __new__(cls, function: Any = None) -> Any:
        made = object.__new__(cls)
        return made if function is None else made(function)


class no_grad(_Plain):
    """Operations inside are not recorded: their results have no `grad_fn`.

    Use it for what needs no gradient, such as evaluation or the update of parameters; it saves time and memory.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> with torch.no_grad():
        ...     (x * 2).requires_grad
        False
    """

    __slots__ = ()

    def __enter__(self) -> None:
        self._before = _set_grad_enabled(False)

    def __exit__(self, *exc_info: object) -> None:
        _set_grad_enabled(self._before)


class enable_grad(_Plain):
    """Operations inside are recorded, also inside `no_grad()`.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> with torch.no_grad(), torch.enable_grad():
        ...     (x * 2).requires_grad
        True
    """

    __slots__ = ()

    def __enter__(self) -> None:
        self._before = _set_grad_enabled(True)

    def __exit__(self, *exc_info: object) -> None:
        _set_grad_enabled(self._before)


class set_grad_enabled(Mode):
    """Switch recording on or off, from the call on; as a context, until its end.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> training = False
        >>> with torch.set_grad_enabled(training):
        ...     (x * 2).requires_grad
        False
    """

    __slots__ = ("mode",)

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before = _set_grad_enabled(self.mode)

    def __call__(self, function: _F) -> _F:
        _set_grad_enabled(self._before)  # a decorator switches nothing where it stands
        return super().__call__(function)

    def __enter__(self) -> None:
        _set_grad_enabled(self.mode)

    def __exit__(self, *exc_info: object) -> None:
        _set_grad_enabled(self._before)

    def clone(self) -> set_grad_enabled:
        """A context of the same mode."""
        return type(self)(self.mode)


class inference_mode(Mode):
    """Like `no_grad()`, and tensors made inside stay outside graphs for good: they have no version counter.

    Args:
        mode: False leaves the mode inside another `inference_mode()`, and records.

    Example:
        >>> with torch.inference_mode():
        ...     torch.ones(1).is_inference()
        True
    """

    __slots__ = ("_inference_before", "mode")
    mode: bool

    @overload
    def __new__(cls, mode: bool = True) -> inference_mode: ...
    @overload
    def __new__(cls, mode: _F) -> _F: ...  # type: ignore[misc]  # as a decorator it gives a function
    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        if isinstance(mode, bool):
            made.mode = mode
            return made
        made.mode = True
        return made(mode)

    def __enter__(self) -> None:
        self._before = _set_grad_enabled(not self.mode)
        self._inference_before = _core.set_mode("inference", self.mode)

    def __exit__(self, *exc_info: object) -> None:
        _core.set_mode("inference", self._inference_before)
        _set_grad_enabled(self._before)

    def clone(self) -> inference_mode:
        """A context of the same mode."""
        return type(self)(self.mode)


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode()` is on in this thread.

    Example:
        >>> torch.is_inference_mode_enabled()
        False
    """
    return bool(_core.get_mode("inference"))
