"""Data loading, checkpointing, hook handles, event files for TensorBoard."""

from importlib import import_module as _import_module
from typing import Any as _Any

from .._unsupported import missing_from as _missing_from
from . import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]

_missing = _missing_from(__name__)


def __getattr__(name: str) -> _Any:
    if name in ("tensorboard", "_pytree"):  # the first needs a package that may not be installed
        return _import_module(f"{__name__}.{name}")
    return _missing(name)
