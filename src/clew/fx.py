"""`torch.fx` without its tracer: what programs ask of it that needs no tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._unsupported import missing_from

__all__ = ["Proxy", "has_side_effect", "wrap"]

_F = TypeVar("_F", bound=Callable[..., Any] | str)


class Proxy:
    """What a tracer would pass instead of tensors. There is none, so nothing is an instance of this."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("fx.Proxy: clew does not trace; call the function itself")


def wrap(fn_or_name: _F) -> _F:
    """``fn_or_name`` itself: it tells a tracer what not to look into."""
    return fn_or_name


def has_side_effect(fn: _F) -> _F:
    """``fn`` itself."""
    return fn


__getattr__ = missing_from(__name__)
