"""Whether a program is being recorded as operations of PyTorch's own: never."""

from __future__ import annotations

import contextlib
from typing import Any, NoReturn

__all__ = ["disable_proxy_modes_tracing", "get_proxy_mode", "make_fx", "maybe_disable_fake_tensor_mode"]


def get_proxy_mode() -> None:
    """None: there is no such mode."""


def maybe_disable_fake_tensor_mode() -> contextlib.AbstractContextManager[None]:
    """A context that changes nothing: there are no fake tensors."""
    return contextlib.nullcontext()


disable_proxy_modes_tracing = maybe_disable_fake_tensor_mode


def make_fx(*args: Any, **kwargs: Any) -> NoReturn:
    """Not supported: a program is recorded by `fx.symbolic_trace`, or by `clew.keep_graph`."""
    raise NotImplementedError(
        "fx.experimental.proxy_tensor.make_fx: clew records no operations of PyTorch's; use fx.symbolic_trace(f), or "
        "clew.keep_graph(f)"
    )
