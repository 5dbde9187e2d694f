"""Names of PyTorch's that are there so that a program can import them: `_placeholders.txt` lists them, this makes them.

What stands for something that clew does not have raises NotImplementedError when it is called or made, and says what to
use instead. Nothing is an instance of such a class; it may stand in annotations and be derived from.
"""

from __future__ import annotations

import ast
import enum
import functools
import os
import re
import types
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ._unsupported import missing_from, told

_TABLE = os.path.join(os.path.dirname(__file__), "_placeholders.txt")
_ENTRY = re.compile(r"(?P<mark>[@!]?)(?P<name>\w+)(?P<rest>[=({>].*)?")


@functools.cache
def table() -> dict[str, dict[str, str]]:
    """For each place, such as `cuda`, the entries of its names. The head of the file tells how they are written."""
    places: dict[str, dict[str, str]] = {}
    with open(_TABLE, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if not line or line.startswith("#"):
                continue
            where, _, entries = line.partition(": ")
            place, _, home = where.rstrip(":").partition(" < ")
            place = place.strip(".")
            while place not in places:  # those above it are modules, too
                places[place] = {}
                place = place.rpartition(".")[0]
            names = places[where.rstrip(":").partition(" < ")[0].strip(".")]
            for entry in entries.split():
                found = _ENTRY.fullmatch(entry)
                assert found is not None, entry
                names[found["name"]] = f"{found['name']}>{home}.{found['name']}" if home else entry
    return places


def has(place: str, name: str) -> bool:
    """Whether the table has this name there, as an object or a module."""
    return name in table().get(place, ()) or f"{place}.{name}".lstrip(".") in table()


def make(place: str, name: str) -> Any:
    """The object, or the module, of this name."""
    full = f"{place}.{name}".lstrip(".")
    if full in table():
        return import_module(f"clew.{full}")
    found = _ENTRY.fullmatch(table()[place][name])
    assert found is not None
    mark, rest = found["mark"], found["rest"] or ""
    module = f"clew.{place}".rstrip(".")
    if rest.startswith(">"):
        return _found(rest[1:])
    if rest.startswith("="):
        return ast.literal_eval(rest[1:])
    if rest.startswith("{"):
        return enum.Enum(name, rest[1:-1].split(","), module=module)
    if rest.startswith("()="):
        return _named(_answer(ast.literal_eval(rest[3:])), module, name, "An answer that never changes.")
    if mark == "@":
        return _named(_unchanged, module, name, "A decorator that changes nothing, with or without arguments.")
    if mark == "!":
        return type(name, (RuntimeError,), {"__module__": module, "__doc__": "clew never raises it."})
    if name.lstrip("_")[:1].isupper():
        return _refused_class(full, module, name, _found(rest[1:-1]) if rest else object)
    refused = _named(_refuse(full), module, name, f"Raises NotImplementedError: {told(full)}.")
    refused.__refuses__ = True  # type: ignore[attr-defined]
    return refused


def _found(path: str) -> Any:
    """What is called `nn.Linear` here, or `/typing.Any` in Python's library."""
    home, _, name = path.rpartition(".")
    return getattr(import_module(home[1:] if home.startswith("/") else f"clew.{home}".rstrip(".")), name)


def _named(function: Callable[..., Any], module: str, name: str, text: str) -> Callable[..., Any]:
    def made(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    made.__name__ = made.__qualname__ = name
    made.__module__, made.__doc__ = module, text
    return made


def _answer(value: Any) -> Callable[..., Any]:
    # A new object each time: the caller may write into it.
    return lambda *args, **kwargs: type(value)(value) if isinstance(value, dict | list) else value


def _unchanged(*args: Any, **kwargs: Any) -> Any:
    return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else lambda decorated: decorated


def _refuse(full: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(told(full))

    return refused


def _refused_class(full: str, module: str, name: str, base: type) -> type:
    members = {
        "__module__": module,
        "__doc__": f"Making one raises NotImplementedError: {told(full)}.",
        "__refuses__": True,
        "__new__": _refuse(full),
        "__init_subclass__": classmethod(lambda cls, **keywords: None),
        "__class_getitem__": classmethod(lambda cls, item: cls),
    }
    return types.new_class(name, (base,), exec_body=lambda body: body.update(members))


class Loader:
    """Makes the modules that are in the table only."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """None: an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        """Gives it the names of its place, each made when it is asked for."""
        place = module.__name__.partition(".")[2]
        module.__doc__ = f"Names of `torch.{place}` that programs import."
        module.__dict__["__getattr__"] = missing_from(module.__name__)
        module.__dict__["__all__"] = sorted(name for name in table()[place] if not name.startswith("_"))
        module.__dict__["__dir__"] = lambda: sorted({*vars(module), *table()[place]})
