"""`as_torch`: from now on `import torch` means clew, here and in child processes."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _core
from ._unsupported import (
    UnsupportedModuleError,
    _placeholders,
    is_pytorchs,
    missing_from,
    pytorch_names,
    told,
    unsupported,
)

PATH = str(Path(__file__).with_name("_torch_path"))
"""A folder with a package `torch` and its metadata. A Python that has it in PYTHONPATH takes clew for PyTorch."""

# What the import system and tools ask of a module itself.
_OWN = {"__name__", "__spec__", "__loader__", "__package__", "__path__", "__file__", "__version__", "__doc__"}


class _Torch(ModuleType):
    """The module `torch`: reads, writes and deletes go to clew, so that libraries may patch it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name in _OWN:
            raise AttributeError(f"module 'torch' has no attribute {name!r}")
        return self if name == "torch" else getattr(_clew(), name)  # `torch.torch` is itself in PyTorch, too

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            super().__setattr__(name, value)
        else:
            setattr(_clew(), name, value)

    def __delattr__(self, name: str) -> None:
        if name in _OWN:
            super().__delattr__(name)
        else:
            delattr(_clew(), name)

    def __dir__(self) -> list[str]:
        return sorted({*_OWN, *dir(_clew())})


class _Finder:
    """Finder and loader of `torch` and `torch.x.y`. What is below `torch` is `clew.x.y` itself, not a copy."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "torch":
            spec = ModuleSpec(name, self, origin=_clew().__file__, is_package=True)  # type: ignore[arg-type]
            spec.has_location = True
            return spec
        if name.partition(".")[0] not in ("torch", "functorch"):
            return None
        ours = _ours(name)
        if _exists(ours) or _part_of_module(ours) is not None:
            return ModuleSpec(name, self)  # type: ignore[arg-type]
        # Who only asks (importlib.util.find_spec) hears that there is none; who imports is told more.
        if sys._getframe(2).f_code.co_name != "find_spec":
            _tell(name, ours)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return _Torch(spec.name, _clew().__doc__) if spec.name == "torch" else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name == "torch":
            module.__version__ = importlib.import_module("clew.version").__version__  # type: ignore[attr-defined]
            module.__path__ = []
            return
        # The import system takes what stands in sys.modules after this; so `torch.nn is clew.nn`, and clew's own
        # `__name__` and `__spec__` stay as they are.
        ours = _ours(name)
        sys.modules[name] = imported = importlib.import_module(ours) if _exists(ours) else _part_of_module(ours)
        if isinstance(imported, ModuleType):
            _serve_missing(ours)
        if not hasattr(imported, "__path__"):
            imported.__path__ = []  # so that the import system asks us for what is below it


def _ours(name: str) -> str:
    """`clew.nn` of `torch.nn`; `clew.functorch` of `functorch`, which is a part of PyTorch."""
    return f"clew.{name}" if name.startswith("functorch") else "clew" + name.removeprefix("torch")


class _LastFinder:
    """Asked for what no one found: `from torch.nn import x` looks for a module `clew.nn.x` in the end."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        place, _, last = name.partition(".")[2].rpartition(".")
        if name.startswith("clew.") and is_pytorchs(place, last) and sys._getframe(2).f_code.co_name != "find_spec":
            _tell(f"torch.{name.removeprefix('clew.')}", f"{name} as torch")


def _tell(name: str, other: str) -> None:
    # Under another name: of what `from torch import x` looks for under its own, and does not find, it tells no one.
    raise UnsupportedModuleError(f"No module named {name!r}: {told(name.removeprefix('torch.'))}", name=other)


class _Missing:
    """An attribute that PyTorch's tensors have and clew's have not."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise unsupported(f"Tensor.{self._name}")


def _tell_of_missing_attributes() -> None:
    # A __getattr__ makes each look-up in a module slower, so those of busy ones come with the wish for PyTorch's names.
    for name in ("clew.nn.functional", "clew.autograd.graph"):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.startswith("clew.")]:
        _serve_missing(name)
    # Not by a __getattr__ of the class, which would make each look-up of an attribute slower.
    for name in pytorch_names()["Tensor"]:
        if not hasattr(_core.Tensor, name):
            _core.add_method(name, _Missing(name))


def _serve_missing(name: str) -> None:
    """Make a module of clew's answer for names of PyTorch's that it has not, if there are any in its place."""
    place = name.partition(".")[2]
    if place in _placeholders().table() or place in pytorch_names():
        vars(sys.modules[name]).setdefault("__getattr__", missing_from(name))


def _clew() -> ModuleType:
    return sys.modules["clew"]


def _part_of_module(name: str) -> Any:
    """What is a module in PyTorch and an object in a module of ours, such as `backends.cudnn`."""
    parent, _, last = name.rpartition(".")
    part = getattr(sys.modules.get(parent), last, None)
    return None if callable(part) else part


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def as_torch() -> None:
    r"""Make `import torch` mean clew, from now on, in this process and in those that it starts.

    `torch` is a thin module whose attributes are clew's, `torch.nn` is `clew.nn`; `torch.__version__` starts with
    PyTorch's version and ends with clew's. Call it before anything imports PyTorch: what was imported keeps what it
    has. Child processes inherit it through the environment variable `PYTHONPATH`, into which this puts a folder.
    `clew run --as-torch SCRIPT` does the same for a script.

    Example:
        >>> import subprocess, sys
        >>> program = "import clew; clew.as_torch(); import torch; print(torch.ones(3).sum(), torch.nn is torch.nn)"
        >>> subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        'tensor(3.) True\n'
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name in [name for name in sys.modules if name.partition(".")[0] in ("torch", "functorch")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder())
    sys.meta_path.append(_LastFinder())
    # `importlib.metadata.version("torch")` reads sys.path, child processes the variable.
    if PATH not in sys.path:
        sys.path.insert(0, PATH)
    inherited = os.environ.get("PYTHONPATH", "")
    if PATH not in inherited.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PATH, inherited]))
    _tell_of_missing_attributes()
    importlib.invalidate_caches()
    importlib.import_module("torch")
