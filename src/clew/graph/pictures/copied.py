"""The picture of a graph that may be gone: of what the core copied of it after a backward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..explanations.copied import copied_nodes
from ..explanations.describe import StorageKey, leaf_key
from ..model.account import FATES, HELD
from ..program import modules
from .arrange import Naming, arrange
from .columns import ordered
from .picture import Picture


def draw_copy(
    copy: dict[str, Any], leaf_names: Mapping[int, str], data_names: Mapping[StorageKey, str], label: str
) -> Picture | None:
    """The graph before and after the backward; None if it had more nodes than were copied.

    Args:
        copy: what ``_core.BackwardLog`` tells of a whole graph.
        leaf_names: by the numbers of leaves.
        data_names: what tensors without a gradient are called.
        label: which moment the second one is.
    """
    if copy["groups"]:
        return None
    nodes = copied_nodes(copy["nodes"])
    operations = ordered(nodes)
    leaves = [node for node in nodes if leaf_key(node) is not None]
    groups, columns = arrange(operations, leaves, Naming(leaf_names, data_names, modules.module_of))
    picture = Picture(columns, groups)
    picture.snapshot("built")
    picture.snapshot(label)
    _undo_last_release(picture)
    return picture


def _undo_last_release(picture: Picture) -> None:
    """Make the first snapshot what the graph was before the latest call that freed some of it."""
    built, columns = picture.snapshots[0], picture.columns
    if not picture.releases.values:
        return
    last = max(range(len(picture.releases.values)), key=lambda at: picture.releases.values[at].serial)
    for row in range(len(columns)):
        if built.release[row] == last:
            built.release[row] = -1
            for slot in columns.slots_of(row):
                built.slot_state[slot] = 0
                built.slot_fate[slot] = FATES.index(HELD)
