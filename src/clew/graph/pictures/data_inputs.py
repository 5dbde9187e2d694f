"""What a graph reads without a gradient, as far as its nodes saved it: batches, labels, indices, masks."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ..explanations.describe import StorageKey, storage_keys
from ..model.protocol import Node
from ..model.records import SavedSlot
from .columns import shape_text


@dataclass(slots=True)
class DataInput:
    """Memory that enters the graph from outside. ``users`` are numbers of the nodes that read it."""

    title: str
    shape: str
    users: list[int] = field(default_factory=list)


def data_inputs(nodes: Sequence[Node], names: Mapping[StorageKey, str]) -> list[DataInput]:
    """The inputs of ``nodes`` that have no history, one for each storage.

    Args:
        nodes: operations.
        names: what the user calls tensors, by the keys of their storage.
    """
    found: dict[object, DataInput] = {}
    for number, node in enumerate(nodes):
        for place, slot in enumerate(node.saved):
            if not slot.shape or not _comes_from_outside(node, slot):
                continue
            keys = storage_keys(slot.storage, slot.identity)
            key = keys[-1] if keys else (number, place)
            if key not in found:
                title = next((names[one] for one in keys if one in names), slot.name)
                found[key] = DataInput(title, shape_text(slot.shape, slot.dtype))
            if number not in found[key].users:
                found[key].users.append(number)
    return list(found.values())


def names_by_storage(tensors: Mapping[str, Any]) -> dict[StorageKey, str]:
    """The names of tensors by the keys of their storages; of several names the first."""
    found: dict[StorageKey, str] = {}
    for name, tensor in tensors.items():
        for key in storage_keys(tensor._storage_id, _core.storage_identity(tensor)):
            found.setdefault(key, name)
    return found


def _comes_from_outside(node: Node, slot: SavedSlot) -> bool:
    arguments = _tensor_arguments(node.op)
    if slot.name not in arguments:
        return False
    if not _is_differentiable(slot):
        return True
    edges = node.next_functions
    if len(edges) != len(arguments):  # those without a derivative are left out
        others = {one.name for one in node.saved if not _is_differentiable(one)}
        arguments = tuple(name for name in arguments if name not in others)
    return len(arguments) == len(edges) and edges[arguments.index(slot.name)][0] is None


def _is_differentiable(slot: SavedSlot) -> bool:
    return str(slot.dtype).rpartition(".")[2].startswith(("float", "bfloat", "complex"))


@functools.cache
def _tensor_arguments(op: str) -> tuple[str, ...]:
    operation = getattr(_core.ops, op, None)
    if operation is None:
        return ()
    arguments = operation.overloads[0]["arguments"]
    return tuple(one["name"] for one in arguments if one["type"] == "Tensor")
