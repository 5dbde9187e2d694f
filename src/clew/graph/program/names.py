"""What the user calls a tensor: a search from names through containers, attributes and closures.

The path that is found is one that the user can type: ``losses[17]``, ``state['hidden']``, ``trainer.best.loss``, and
``model.0.weight`` as in ``named_parameters``, which comes before all other paths to a parameter. Where there is no such
text (variables of a closure, a generator or a traceback) the name follows a colon: ``closure:kept``.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ... import _core
from .containers import SKIPPED, children, is_module, is_optimizer, is_parameter
from .frames import scopes_of, user_frames

_IPYTHONS = re.compile(r"_{1,3}|_\d+|_i{1,3}|_i\d+|_[oid]h|In|Out|get_ipython|exit|quit")
MOST_OBJECTS = 1_000_000  # after so many the search stops: a data set of Python objects is not worth more
MOST_FOR_LEAVES = 100_000  # where names are asked for by the way

Scopes = Iterable[Mapping[str, object]]
Found = tuple[str, object]


def is_tensor(value: object) -> bool:
    """Whether it is a tensor or a parameter."""
    return isinstance(value, _core.Tensor)


def find_tensors(
    scopes: Scopes,
    is_wanted: Callable[[object], bool] = is_tensor,
    most_objects: int = MOST_OBJECTS,
    is_target: Callable[[object], bool] | None = None,
) -> Iterator[tuple[str, Any]]:
    """Every tensor that can be reached from the names in ``scopes``, with one path to it, each once.

    What is in a module is found there; what is elsewhere by the shortest path; what only an optimizer has, last.

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
    """The user's variables. Some are not the user's: ``.0`` in a comprehension, ``@py_assert1`` under pytest, and in a
    notebook what IPython keeps of cells, ``_``, ``_4``, ``Out``."""
    return [
        (name, value)
        for scope in scopes
        for name, value in list(scope.items())
        if name.isidentifier() and not name.startswith("__") and not (_IPYTHONS.fullmatch(name) and "_oh" in scope)
    ]


def variable_of(value: object) -> str | None:
    """What the innermost running function of the user's, or its module, calls an object.

    Example:
        >>> data = object()
        >>> variable_of(data)
        'data'
    """
    scopes = scopes_of(user_frames(sys._getframe(1))[:1])
    return next((name for name, held in own_names(scopes) if held is value), None)


def results_of_cells(scopes: Scopes) -> list[tuple[str, object]]:
    """What IPython keeps of cells: ``Out[4]``, which no variable of the user's refers to."""
    kept = [scope["_oh"] for scope in scopes if isinstance(scope.get("_oh"), dict)]
    return [(f"Out[{number}]", value) for results in kept for number, value in list(results.items())]  # type: ignore[attr-defined]


def search(
    starts: Iterable[tuple[str, object]],
    is_wanted: Callable[[object], bool] = is_tensor,
    most_objects: int = MOST_OBJECTS,
    is_target: Callable[[object], bool] | None = None,
) -> Iterator[tuple[str, Any]]:
    """:func:`find_tensors` from objects whose paths are known, breadth first: modules before others."""
    queues = modules, others, last = deque[Found](), deque[Found](), deque[Found]()

    def put(found: Iterable[Found], parent: object) -> None:
        for path, value in found:
            if is_module(parent) or is_module(value):
                modules.append((path, value))
            elif is_optimizer(value) or is_parameter(value):
                last.append((path, value))  # a module may still turn up that has it, or its parameters
            else:
                others.append((path, value))

    put(starts, None)
    seen: set[int] = set()
    alive: list[object] = []  # keeps temporary objects, so that an id is not used twice
    while any(queues) and len(seen) < most_objects:
        path, value = (modules or others or last).popleft()
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
        put(children(path, value, is_wanted), value)


@dataclass(frozen=True, slots=True)
class Names:
    """What the user calls some tensors, and the modules on the way to them."""

    tensors: dict[int, str]
    """By the tensors' ``id``."""
    modules: dict[str, str]
    """The class of a module, by its path: ``{"model.3": "Linear"}``."""


def names_of(tensors: Iterable[Any], frames: Iterable[FrameType], most_objects: int = MOST_OBJECTS) -> Names:
    """What the functions of ``frames`` and their modules call these tensors."""
    wanted = {id(tensor) for tensor in tensors}
    found = Names({}, {})
    if not wanted:
        return found
    searched = find_tensors(scopes_of(frames), lambda value: is_tensor(value) or is_module(value), most_objects)
    for path, value in searched:
        if not is_tensor(value):
            found.modules[path] = type(value).__name__
        elif id(value) in wanted:
            found.tensors[id(value)] = path
            if len(found.tensors) == len(wanted):
                break
    return found


def names_of_leaves(nodes: Iterable[Any], frames: Iterable[FrameType]) -> dict[int, str]:
    """What the functions of ``frames`` call the leaves of a graph, by ``id``: where no names were given."""
    leaves = (node.variable for node in nodes if isinstance(node, _core.AccumulateGrad))
    return names_of([leaf for leaf in leaves if leaf is not None], frames, MOST_FOR_LEAVES).tensors
