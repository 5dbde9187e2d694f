"""Passes over graphs: each is a module, which is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {"graph_drawer", "infra", "shape_prop", "split_module", "tools_common", "utils"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
