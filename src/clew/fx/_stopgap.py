"""Until functions ask `__torch_function__` of arguments that are no tensors: they do while a tracer is at work."""

from __future__ import annotations

import functools
import types
from typing import Any

import clew


def ask_proxies(patcher: Any) -> None:
    """Replace the public functions by ones that ask proxies."""
    from ._symbolic_trace import _find_proxy

    def asking(function: Any) -> Any:
        @functools.wraps(function, assigned=("__name__", "__doc__"))
        def asked(*args: Any, **kwargs: Any) -> Any:
            proxy = _find_proxy(args, kwargs)
            if proxy is None:
                return function(*args, **kwargs)
            return type(proxy).__torch_function__(function, (type(proxy),), args, kwargs)

        return asked

    for module in (clew, clew.nn.functional, clew.linalg, clew.special, clew.fft):
        for name in set(module.__all__) & set(vars(module)):
            value = vars(module)[name]
            if callable(value) and not isinstance(value, (type, types.ModuleType)):
                patcher.patch(vars(module), name, asking(value))
