"""Which of the user's variables holds most of a set of tensors."""

from __future__ import annotations

import operator
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from types import FrameType, SimpleNamespace
from typing import Any

from ..program.frames import is_installed, is_ours, variables
from ..program.names import find_tensors

_MOST_OBJECTS = 200_000  # of the user's, in one search
_STEP = re.compile(r"\.\w+|:\w+|\{\.\.\.\}|\[(?:'[^']*'|\"[^\"]*\"|[^\[\]])*\]|^\w+|.+", re.DOTALL)


def find_holder_in(
    scopes: Sequence[Mapping[str, object]], tensors: Sequence[Any], cover_of: Callable[[Any], int]
) -> str | None:
    """The same as :func:`find_holder` where nothing runs any more: the variables are given."""
    wanted = {id(tensor) for tensor in tensors}
    found = [(path, cover_of(tensor)) for path, tensor in find_tensors(scopes, lambda value: id(value) in wanted)]
    return _common(found) if found else None


def find_holder(tensors: Sequence[Any], cover_of: Callable[[Any], int], frames: Sequence[FrameType]) -> str | None:
    """The path to the variable, attribute or container through which ``tensors`` cover the most.

    ``cover_of`` gives what a tensor covers as bits: of two names that lead to equally much the one that is nearer wins,
    and of ``losses``, ``losses[0]``, ``losses[1]`` the shortest that has all. Searched are the callers' variables, then
    the globals of all modules that are not installed ones. None if no name leads there.
    """
    wanted = {id(tensor) for tensor in tensors}

    def found_in(scopes: Sequence[Mapping[str, object]]) -> list[tuple[str, int]]:
        found = list(find_tensors(scopes, lambda value: id(value) in wanted, _MOST_OBJECTS))
        found += _gradients(scopes, wanted - {id(tensor) for _, tensor in found})
        return [(path, cover_of(tensor)) for path, tensor in found]

    own = [frame for frame in frames if not is_installed(frame.f_code.co_filename)]
    found = found_in(_callers(own))
    if len(own) < len(frames) and _union(bits for _, bits in found) != _union(map(cover_of, tensors)):
        found += found_in(_callers(frames))
    found = found or found_in([own_modules()])
    return _common(found) if found else None


def _union(bits: Iterable[int]) -> int:
    return reduce(operator.or_, bits, 0)


def _gradients(scopes: Sequence[Mapping[str, object]], wanted: set[int]) -> Iterator[tuple[str, Any]]:
    """Those that are the ``.grad`` of another tensor: a search that wants all tensors passes them."""
    if wanted:
        everything = find_tensors(scopes, most_objects=_MOST_OBJECTS)
        yield from ((path, tensor) for path, tensor in everything if id(tensor) in wanted)


def _common(paths: Sequence[tuple[str, int]]) -> str:
    """The longest beginning of paths that covers as much as the best first name does."""
    cover: dict[tuple[str, ...], int] = {}
    for path, bits in paths:
        steps = tuple(_STEP.findall(path))
        for length in range(1, len(steps) + 1):
            cover[steps[:length]] = cover.get(steps[:length], 0) | bits
    best: tuple[str, ...] = ()
    while True:
        longer = [steps for steps in cover if len(steps) == len(best) + 1 and steps[: len(best)] == best]
        if not longer:
            return "".join(best)
        candidate = max(longer, key=lambda steps: cover[steps].bit_count())
        if best and cover[candidate].bit_count() < cover[best].bit_count():
            return "".join(best)
        best = candidate


def _callers(frames: Sequence[FrameType]) -> list[Mapping[str, object]]:
    scopes: list[Mapping[str, object]] = [variables(frame) for frame in frames]
    seen: set[int] = set()
    for frame in frames:
        if id(frame.f_globals) not in seen:
            seen.add(id(frame.f_globals))
            scopes += [frame.f_globals, own_classes(frame.f_globals)]
    return scopes


def own_classes(module: Mapping[str, object]) -> Mapping[str, object]:
    """The attributes of classes that a module defines, which a search from names does not enter."""
    own = [value for value in list(module.values()) if isinstance(value, type)]
    return {kind.__name__: _as_object(vars(kind)) for kind in own if kind.__module__ == module.get("__name__")}


def own_modules() -> Mapping[str, object]:
    """All modules but ours and those that are installed, each under its last name."""
    scope: dict[str, object] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(module, types.ModuleType) and file and not is_ours(file) and not is_installed(file):
            scope[name.rpartition(".")[2]] = _as_object(vars(module))
    return scope


def _as_object(attributes: Mapping[str, object]) -> SimpleNamespace:
    return SimpleNamespace(**{name: value for name, value in attributes.items() if not name.startswith("__")})
