"""Groups of the nodes of a large graph, as columns, and which of them are unfolded at first."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field

KINDS = ("module", "function", "loop", "step", "part", "inputs")
MOST_SHOWN = 60  # what is unfolded at first
FEW = 30  # boxes of a graph in which not even loops are folded at first


@dataclass(slots=True)
class Groups:
    """All groups, outer before inner. Group 0 is the whole graph; ``node_group`` gives the innermost of each node."""

    parent: array[int] = field(default_factory=lambda: array("i"))
    kind: array[int] = field(default_factory=lambda: array("B"))
    label: array[int] = field(default_factory=lambda: array("I"))
    first: array[int] = field(default_factory=lambda: array("I"))
    end: array[int] = field(default_factory=lambda: array("I"))
    node_group: array[int] = field(default_factory=lambda: array("I"))
    order: list[int] = field(default_factory=list)  # the nodes, as the groups have them

    def __len__(self) -> int:
        return len(self.parent)

    def append(self, row: int) -> None:
        """Add a row that is in no group but that of everything."""
        self.order.append(row)
        self.node_group.append(0)
        self.end[0] = len(self.order)


def first_unfolded(groups: Groups, most: int = MOST_SHOWN) -> list[int]:
    """Which groups are unfolded at first: outer before inner, no loop of many steps, as long as ``most`` are shown."""
    children: list[list[int]] = [[] for _ in range(len(groups))]
    nodes = Counter(groups.node_group)
    for number in range(1, len(groups)):
        children[groups.parent[number]].append(number)
    size = [nodes[number] + len(children[number]) for number in range(len(groups))]
    unfolded = [0]
    shown = size[0]
    small = len(groups.order) <= FEW
    for group in unfolded:
        for child in children[group]:
            is_loop = KINDS[groups.kind[child]] in ("loop", "part", "inputs") and not small
            if not is_loop and shown + size[child] - 1 <= most:
                unfolded.append(child)
                shown += size[child] - 1
    return unfolded
