"""The Python objects that nodes keep: what hooks packed, and what a Function stored in its ctx."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..program.names import search
from .protocol import Node, Tensor, is_tensor
from .records import SavedSlot

# What clew itself notes in the context of every Function.
_OWN_ATTRIBUTES = {"needs_input_grad", "_is_tensor", "materialize_grads"}
_MOST_DEPTH = 4
_MOST_OBJECTS = 50_000


@dataclass(frozen=True, slots=True)
class KeptObject:
    """An object that ``node`` keeps: of kind ``packed`` (instead of a saved tensor) or ``workspace`` (besides)."""

    node: Node
    kind: str
    name: str
    value: Any

    @property
    def type_name(self) -> str:
        return type(self.value).__name__

    @property
    def storage(self) -> int:
        """The number of its storage if it is a tensor, else its own."""
        return int(self.value._storage_id) if is_tensor(self.value) else id(self.value)

    @property
    def nbytes(self) -> int:
        """Bytes of its memory, as far as it tells."""
        if is_tensor(self.value):
            return int(self.value._storage_nbytes)
        told = getattr(self.value, "nbytes", None)
        return told if isinstance(told, int) else len(self.value) if isinstance(self.value, (bytes, bytearray)) else 0

    @property
    def is_foreign(self) -> bool:
        """Whether the memory is not the allocator's."""
        return _core.storage_is_foreign(self.value) if isinstance(self.value, _core.Tensor) else True

    def as_slot(self) -> SavedSlot:
        """The same in the form of what is saved."""
        shape, dtype = tuple(getattr(self.value, "shape", ())), getattr(self.value, "dtype", self.type_name)
        return SavedSlot(self.name, shape, dtype, self.nbytes, self.nbytes, "held", self.storage, 0, 0, self.is_foreign)


def hidden_roots(roots: Sequence[Tensor | Node]) -> list[Tensor | Node]:
    """Further tensors and nodes that these graphs keep alive in ways that only Python knows.

    They are found in what hooks packed, in what unpacks it (``checkpoint`` keeps the arguments of a function there) and
    in the attributes of a Function's ctx. What the hooks of users hold does not count as the graph's.
    """
    found: dict[int, Tensor | Node] = {}
    waiting = list(roots)
    while waiting:
        starts = [
            (what, value)
            for _, _, what, value in _core.graph_python_things(waiting)
            if what in ("ctx", "attributes", "metadata", "unpack hook") or what.startswith("packed ")
        ]
        met = search(starts, lambda value: isinstance(value, (_core.Tensor, _core.Node)), _MOST_OBJECTS)
        waiting = [one for _, one in met if id(one) not in found]
        found |= {id(one): one for one in waiting}
    return list(found.values())


def kept_objects(roots: Sequence[Tensor | Node]) -> Iterator[KeptObject]:
    """All objects of this kind in the graphs of ``roots``; of workspaces only tensors and what tells its bytes."""
    for _, node, what, value in _core.graph_python_things(roots):
        if what.startswith("packed "):
            yield KeptObject(node, "packed", what.removeprefix("packed "), value)
        elif what in ("ctx", "metadata", "attributes"):
            for name, inner in value.items():
                if name not in _OWN_ATTRIBUTES:
                    yield from (KeptObject(node, "workspace", path, one) for path, one in _memory(str(name), inner, 0))


def _memory(path: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Tensors and arrays in an attribute, or in containers there."""
    if is_tensor(value) or (isinstance(getattr(value, "nbytes", None), int) and not isinstance(value, type)):
        yield path, value
    elif depth < _MOST_DEPTH and isinstance(value, dict):
        for key, inner in value.items():
            yield from _memory(f"{path}[{key!r}]", inner, depth + 1)
    elif depth < _MOST_DEPTH and isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            yield from _memory(f"{path}[{number}]", inner, depth + 1)
