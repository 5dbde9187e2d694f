"""What the user calls a tensor: a search from names through containers, attributes and closures.

The path that is found is one that the user can type: ``losses[17]``, ``state['hidden']``, ``trainer.best.loss``, and
``model.0.weight`` as in ``named_parameters``.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import _core

MOST_OBJECTS = 1_000_000  # after so many the search stops: a data set of Python objects is not worth more

# Objects that hold no tensor, or belong to Python rather than to the user.
_SKIPPED = (
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    bool,
    type(None),
    range,
    types.ModuleType,
    types.CodeType,
    type(...),
)


def is_tensor(value: object) -> bool:
    """Whether it is a tensor or a parameter."""
    return isinstance(value, _core.Tensor)


def find_tensors(
    scopes: Iterable[Mapping[str, object]],
    is_wanted: Callable[[object], bool] = is_tensor,
    most_objects: int = MOST_OBJECTS,
) -> Iterator[tuple[str, Any]]:
    """Every tensor that can be reached from the names in ``scopes``, with the shortest path to it, each once.

    >>> import clew
    >>> x = clew.ones(2)
    >>> [path for path, tensor in find_tensors([{"losses": [1.0, {"best": x}]}])]
    ["losses[1]['best']"]
    """
    queue: deque[tuple[str, object]] = deque()
    for scope in scopes:
        # Some names are not the user's: `.0` in a comprehension, `@py_assert1` under pytest.
        names = [name for name in scope if name.isidentifier() and not name.startswith("__")]
        queue.extend((name, scope[name]) for name in names)
    seen: set[int] = set()
    alive: list[object] = []  # keeps temporary objects, so that an id is not used twice
    while queue and len(seen) < most_objects:
        path, value = queue.popleft()
        tensor = is_wanted(value)
        if id(value) in seen or (not tensor and isinstance(value, _SKIPPED)):
            continue
        seen.add(id(value))
        alive.append(value)
        if tensor:
            yield path, value
            gradient = getattr(value, "grad", None) if getattr(value, "is_leaf", False) else None
            if gradient is not None:
                queue.append((f"{path}.grad", gradient))
        queue.extend(_children(path, value))


def _children(path: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", item) for key, item in list(value.items()))
    elif isinstance(value, (list, tuple, deque)):
        yield from ((f"{path}[{number}]", item) for number, item in enumerate(list(value)))
    elif isinstance(value, (set, frozenset)):
        yield from ((f"{path}{{...}}", item) for item in list(value))
    elif isinstance(value, types.FunctionType):
        yield from _of_function(path, value)
    elif isinstance(value, types.MethodType):
        yield f"{path}.__self__", value.__self__
    elif isinstance(value, functools.partial):
        yield f"{path}.func", value.func
        yield f"{path}.args", value.args
        yield f"{path}.keywords", value.keywords
    elif isinstance(value, types.GeneratorType):
        if value.gi_frame is not None:
            yield from ((f"{path}:{name}", item) for name, item in value.gi_frame.f_locals.items())
        return
    if isinstance(value, type) and value.__module__ != "__main__":
        return
    yield from _attributes(path, value)


def _of_function(path: str, function: types.FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f"{path}:{name}", cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    yield from ((f"{path}:{number}", item) for number, item in enumerate(function.__defaults__ or ()))


def _attributes(path: str, value: object) -> Iterator[tuple[str, object]]:
    try:
        own = vars(value)
    except TypeError:
        own = {}
    # A module keeps its parameters in dictionaries of its own; the user writes their names after a dot.
    is_module = isinstance(own.get("_parameters"), dict) and isinstance(own.get("_modules"), dict)
    for name, item in list(own.items()):
        if is_module and name in ("_parameters", "_buffers", "_modules"):
            yield from ((f"{path}.{key}", inner) for key, inner in item.items())
        elif not (name.startswith("__") and name.endswith("__")):
            yield f"{path}.{name}", item
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name in ("__dict__", "__weakref__"):
                continue
            try:
                yield f"{path}.{name}", object.__getattribute__(value, name)
            except AttributeError:  # mangled, or not set
                continue
