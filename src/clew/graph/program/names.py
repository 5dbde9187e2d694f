"""What the user calls a tensor: a search from names through containers, attributes and closures.

The path that is found is one that the user can type: ``losses[17]``, ``state['hidden']``, ``trainer.best.loss``, and
``model.0.weight`` as in ``named_parameters``. Where there is no such text (variables of a closure, a generator or a
traceback) the name follows a colon: ``closure:kept``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

from ... import _core
from .containers import SKIPPED, children
from .frames import scopes_of

MOST_OBJECTS = 1_000_000  # after so many the search stops: a data set of Python objects is not worth more

Scopes = Iterable[Mapping[str, object]]


def is_tensor(value: object) -> bool:
    """Whether it is a tensor or a parameter."""
    return isinstance(value, _core.Tensor)


def find_tensors(
    scopes: Scopes,
    is_wanted: Callable[[object], bool] = is_tensor,
    most_objects: int = MOST_OBJECTS,
    is_target: Callable[[object], bool] | None = None,
) -> Iterator[tuple[str, Any]]:
    """Every tensor that can be reached from the names in ``scopes``, with the shortest path to it, each once.

    Args:
        scopes: variables, such as a frame's ``f_locals``.
        is_wanted: what to look for instead of tensors.
        most_objects: how many objects are looked at.
        is_target: of what all paths are told instead of the shortest: one for each name and container that holds it.

    Example:
        >>> x = clew.ones(2)
        >>> [path for path, tensor in find_tensors([{"losses": [1.0, {"best": x}]}])]
        ["losses[1]['best']"]
    """
    return search(own_names(scopes), is_wanted, most_objects, is_target)


def own_names(scopes: Scopes) -> list[tuple[str, object]]:
    """The user's variables. Some are not the user's: ``.0`` in a comprehension, ``@py_assert1`` under pytest."""
    return [
        (name, value)
        for scope in scopes
        for name, value in list(scope.items())
        if name.isidentifier() and not name.startswith("__")
    ]


def search(
    starts: Iterable[tuple[str, object]],
    is_wanted: Callable[[object], bool] = is_tensor,
    most_objects: int = MOST_OBJECTS,
    is_target: Callable[[object], bool] | None = None,
) -> Iterator[tuple[str, Any]]:
    """:func:`find_tensors` from objects whose paths are known, breadth first."""
    queue = deque(starts)
    seen: set[int] = set()
    alive: list[object] = []  # keeps temporary objects, so that an id is not used twice
    while queue and len(seen) < most_objects:
        path, value = queue.popleft()
        wanted = is_wanted(value)
        if not wanted and isinstance(value, SKIPPED):
            continue
        if id(value) in seen:
            if wanted and is_target is not None and is_target(value):
                yield path, value
            continue
        seen.add(id(value))
        alive.append(value)
        if wanted:
            yield path, value
        queue.extend(children(path, value, is_wanted))


def names_of(tensors: Iterable[Any], frames: Iterable[FrameType], most_objects: int = MOST_OBJECTS) -> dict[int, str]:
    """What the functions of ``frames`` and their modules call these tensors, by the tensors' ``id``."""
    wanted = {id(tensor) for tensor in tensors}
    found: dict[int, str] = {}
    if not wanted:
        return found
    for path, tensor in find_tensors(scopes_of(frames), most_objects=most_objects):
        if id(tensor) in wanted:
            found[id(tensor)] = path
            if len(found) == len(wanted):
                break
    return found
