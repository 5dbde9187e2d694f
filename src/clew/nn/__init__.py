"""Neural networks: parameters, modules, losses."""

from importlib import import_module as _import_module
from typing import Any as _Any

from .._unsupported import missing_from as _missing_from
from . import functional, init, modules, parallel, utils
from .modules import *  # noqa: F403
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "modules",
    "parallel",
    "utils",
    *modules.__all__,
]

_missing = _missing_from(__name__)


def __getattr__(name: str) -> _Any:
    if name == "attention":  # few programs need it
        return _import_module("clew.nn.attention")
    return _missing(name)
