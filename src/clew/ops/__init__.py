"""Operations written in Python: compositions of the core's, and creation of tensors.

Each module lists what is a function of `clew` in `__all__`, and what is a method of Tensor as well in `METHODS`.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from pkgutil import iter_modules as _iter_modules
from typing import Any as _Any

from .. import _core

__all__: list[str] = []

_names = [_found.name for _found in _iter_modules(__path__)]
for _name in sorted(_names, key="aliases".__eq__):  # aliases come last: they are of what the others define
    _module = _import_module(f"{__name__}.{_name}")
    for _name in getattr(_module, "__all__", ()):
        globals()[_name] = getattr(_module, _name)
        __all__.append(_name)
    for _name in getattr(_module, "METHODS", ()):
        _core.add_method(_name, getattr(_module, _name))


def _load_library(path: str) -> None:
    """Raises OSError, as PyTorch does of a file that it can't load: libraries go on without it."""
    raise OSError(f"load_library: expected no file of kernels, got {path!r}; use library.custom_op with Python kernels")


def __getattr__(name: str) -> _Any:
    """The namespace of users' operations that has this name, `clew.ops.mylib.scale(x)`; PyTorch's own is `aten`."""
    if name == "aten":
        globals()[name] = _import_module("clew.library._aten").Aten()
        return globals()[name]
    if name == "load_library":
        return _load_library
    if not name.startswith("_"):
        found = _import_module("clew.library._namespace").namespace(name)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; no operation is called '{name}::...'")
