"""What an exception says of the graph, beside its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from ... import _core
from ...autograd import errors
from ..model.places import Place
from ..model.protocol import is_node
from ..program.frames import is_ours
from ..program.names import names_of
from .explanation import Note

_OURS = tuple(kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BaseException))
_MOST_RESULTS = 3  # that lead to the node


def reason_of(error: BaseException) -> BaseException:
    """The error of the graph in the chain of causes, or the error itself if there is none."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        if isinstance(one, _OURS):
            return one
        seen.add(id(one))
        one = one.__cause__ or one.__context__
    return error


def notes_of(error: BaseException, frames: Sequence[FrameType]) -> list[Note]:
    """A line for each field that is known (``created at``, ``freed at``, ...), and for where it was raised."""
    if not isinstance(error, _OURS):
        return [
            *_raised(error),
            Note("note", "this is not an error of the graph: it names no node", None),
        ]
    notes = [*_fields(error), *_raised(error)]
    node = getattr(error, "node", None)
    if isinstance(node, _core.Node):
        notes += _results_above(node, frames)
    return notes


def _fields(error: BaseException) -> Iterator[Note]:
    names = dict.fromkeys(
        name
        for kind in type(error).__mro__
        if kind in _OURS
        for name in (*vars(kind).get("__annotations__", ()), *vars(error))
    )
    for name in names:
        value: Any = getattr(error, name, None)
        label = "created at" if name == "made_at" else name.replace("_", " ")
        if value is None or name.startswith("_") or is_node(value):
            continue
        if _is_site(value):
            yield Note(label, "", Place.of(value))
        elif isinstance(value, (list, tuple)) and value and all(map(_is_site, value)):
            yield from (Note(label, "", Place.of(site)) for site in value)
        elif isinstance(value, (str, int, float)):
            yield Note(label, str(value), None)


def _is_site(value: object) -> bool:
    return all(hasattr(value, name) for name in ("file", "line", "function"))


def raised_at(error: BaseException) -> Place | None:
    """The innermost line of the user's in the traceback."""
    place = None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_ours(code.co_filename):
            place = Place(code.co_filename, trace.tb_lineno, code.co_qualname)
        trace = trace.tb_next
    return place


def _raised(error: BaseException) -> Iterator[Note]:
    if (place := raised_at(error)) is not None:
        yield Note("raised at", "", place)


def _results_above(node: _core.Node, frames: Sequence[FrameType]) -> Iterator[Note]:
    """Edges lead down only; upwards leads the search among living tensors."""
    living = _core.live_tensors()
    hits, _ = _core.graph_holders(living, node)
    results = [living[number] for number, _ in hits]
    names = sorted(names_of(results, frames).tensors.values(), key=lambda name: (len(name), name))
    if names:
        more = f" and {len(names) - _MOST_RESULTS:,} more" if len(names) > _MOST_RESULTS else ""
        yield Note("in the graph of", ", ".join(f"`{name}`" for name in names[:_MOST_RESULTS]) + more, None)
