"""The names under which a program reaches functions and types of the package, as generated code writes them."""

from __future__ import annotations

import builtins
import importlib
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import clew
from clew._core import Operation

# The first one that has an object under its own name gives it the name.
_PLACES = ("", "nn.functional", "linalg", "special", "fft", "nn", "nn.init", "func", "fx", "utils.checkpoint", "Tensor")


def public_name(value: Any) -> str | None:
    """`torch.relu` of what is reached by that name; None of what is not of this package."""
    name = getattr(value, "__name__", None)
    if not isinstance(name, str) or isinstance(value, types.ModuleType):
        return None
    module = getattr(value, "__module__", None) or ""
    if not isinstance(value, Operation) and module.partition(".")[0] not in ("clew", "torch", ""):
        return None
    for place in _PLACES:
        owner: Any = clew.Tensor if place == "Tensor" else _module(place)
        if getattr(owner, name, None) is value:
            return ".".join(filter(None, ("torch", place, name)))
    if isinstance(value, Operation):  # some have other names in the registry
        for place in filter(_module, _PLACES[:-1]):
            for other, found in vars(_module(place)).items():
                if found is value:
                    return ".".join(filter(None, ("torch", place, other)))
    if module.startswith("clew.") and _resolved(module, getattr(value, "__qualname__", name)) is value:
        return f"torch.{module.removeprefix('clew.')}.{value.__qualname__}"
    return None


def _module(place: str) -> Any:
    """The module, if anybody has imported it: what is looked for comes from there."""
    return sys.modules.get(f"clew.{place}" if place else "clew")


def _resolved(module: str, qualified: str) -> Any:
    found: Any = sys.modules.get(module)
    for name in qualified.split("."):
        found = getattr(found, name, None)
    return found


def qualified_name(function: Callable[..., Any]) -> str:
    """How generated code calls the function: `torch.relu`, `getattr`, `math.sqrt`, `package.module.function`.

    Raises:
        RuntimeError: it has no name that code could use.
    """
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return name
    public = public_name(function)
    if public is not None:
        return public
    if name == "<lambda>":
        try:
            name = inspect.getsource(function).split("=")[0].strip()
        except (OSError, TypeError) as error:
            raise RuntimeError("Unable to represent lambda") from error
    module = getattr(function, "__module__", None)
    if module is None:
        raise RuntimeError(f"cannot find module for {function}")
    return f"{module}.{name}"


def type_name(value: Any) -> str:
    """A type as an annotation writes it: `int`, `torch.Tensor`, `typing.List[int]`."""
    if isinstance(value, type) and not isinstance(value, types.GenericAlias):
        if value.__module__ == "builtins":
            return value.__qualname__
        return public_name(value) or f"{value.__module__}.{value.__qualname__}"
    if value is ...:
        return "..."
    return value.__name__ if isinstance(value, types.FunctionType) else repr(value)


def imported(text: str) -> str:
    """Imports as PyTorch writes them, with this package in the place of `torch`: files are exchanged both ways."""
    lines = []
    for line in text.split("\n"):
        if line == "import torch":
            line = "import clew as torch"
        elif line.startswith(("import torch.", "from torch ", "from torch.")):
            line = line.replace(" torch", " clew", 1)
        elif line.startswith("from ") and not _exists(line.split()[1]):
            raise ModuleNotFoundError(f"a GraphModule was saved with {line!r}, but there is no such module")
        lines.append(line)
    return "\n".join(lines)


def _exists(module: str) -> bool:
    try:
        return importlib.import_module(module) is not None
    except ImportError:
        return False
