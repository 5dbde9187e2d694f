"""`torch.compiler`: `compile`, and questions about compilers, which are answered with no."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ._unsupported import missing_from
from .keep.compiled import compile, disabled

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "disabled",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]

_F = TypeVar("_F")


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """``fn`` itself; without it, a decorator that changes nothing: nothing is compiled.

    Example:
        >>> @torch.compiler.disable
        ... def double(x):
        ...     return x * 2
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: _F) -> _F:
    """``fn`` itself.

    Example:
        >>> clew.compiler.allow_in_graph(abs) is abs
        True
    """
    return fn


def assume_constant_result(fn: _F) -> _F:
    """``fn`` itself.

    Example:
        >>> clew.compiler.assume_constant_result(abs) is abs
        True
    """
    return fn


def is_compiling() -> bool:
    """False: nothing is compiled.

    Example:
        >>> torch.compiler.is_compiling()
        False
    """
    return False


def is_dynamo_compiling() -> bool:
    """False: nothing is compiled.

    Example:
        >>> torch.compiler.is_dynamo_compiling()
        False
    """
    return False


def is_exporting() -> bool:
    """False: nothing is exported.

    Example:
        >>> torch.compiler.is_exporting()
        False
    """
    return False


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of compilers: there are none.

    Example:
        >>> clew.compiler.list_backends()
        []
    """
    return []


def reset() -> None:
    """Accepted: there is nothing to reset.

    Example:
        >>> torch.compiler.reset()
    """


def cudagraph_mark_step_begin() -> None:
    """Accepted: there is nothing to mark.

    Example:
        >>> clew.compiler.cudagraph_mark_step_begin()
    """


@contextmanager
def set_stance(*args: Any, **options: Any) -> Iterator[None]:
    """A context that is accepted, without effect.

    Example:
        >>> with torch.compiler.set_stance("force_eager"):
        ...     pass
    """
    yield


__path__: list[str] = []  # so that `torch.compiler.config` is imported
__getattr__: Callable[[str], Any] = missing_from(__name__)
