"""`torch.compiler` where nothing is compiled: decorators change nothing, questions are answered with no."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ._unsupported import missing_from
from .jit import say_once

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]

_F = TypeVar("_F")


def compile(model: Any = None, **options: Any) -> Any:
    """The function or module itself, as PyTorch's backend "eager" gives it; said once in a warning.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     double = torch.compile(lambda x: x * 2)
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    say_once("torch.compile", "clew compiles nothing (yet), the function or module runs as it is")
    return (lambda function: function) if model is None else model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """``fn`` itself; without it, a decorator that changes nothing."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: _F) -> _F:
    """``fn`` itself."""
    return fn


def assume_constant_result(fn: _F) -> _F:
    """``fn`` itself."""
    return fn


def is_compiling() -> bool:
    """False."""
    return False


def is_dynamo_compiling() -> bool:
    """False."""
    return False


def is_exporting() -> bool:
    """False."""
    return False


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """None, so an empty list."""
    return []


def reset() -> None:
    """There is nothing to reset."""


def cudagraph_mark_step_begin() -> None:
    """There is nothing to mark."""


@contextmanager
def set_stance(*args: Any, **options: Any) -> Iterator[None]:
    """Accepted, to no effect."""
    yield


__getattr__: Callable[[str], Any] = missing_from(__name__)
