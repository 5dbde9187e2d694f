"""In which order, and under which node, each node of a graph is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.protocol import Node


@dataclass(frozen=True, slots=True)
class Layout:
    """A spanning tree in print order: the last of a node's children continues its line, the others branch."""

    order: tuple[Node, ...]
    parent: dict[Node, Node | None]


def lay_out(nodes: Sequence[Node]) -> Layout:
    """Arrange ``nodes``, which are in topological order; edges to nodes outside are ignored.

    A node is printed once, under the consumer that is farthest from the root: so what a skip connection reaches stands
    below the block that is skipped, and the connection is a reference. The longest line of children goes straight down
    without indentation; a chain of a thousand nodes is a column.
    """
    chosen = set(nodes)
    level: dict[Node, int] = {}
    parent: dict[Node, Node | None] = {}
    for node in nodes:
        own = level.setdefault(node, 0)
        parent.setdefault(node, None)
        for below, _ in node.next_functions:
            if below in chosen and below is not None and level.get(below, 0) <= own:
                level[below] = own + 1
                parent[below] = node

    height: dict[Node, int] = {}
    children: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in reversed(nodes):
        height.setdefault(node, 0)
        above = parent[node]
        if above is not None:
            height[above] = max(height.get(above, 0), height[node] + 1)
    for node in nodes:
        above = parent[node]
        if above is not None:
            children[above].append(node)

    order: list[Node] = []
    stack = [node for node in reversed(nodes) if parent[node] is None]
    while stack:
        node = stack.pop()
        order.append(node)
        mine = children[node]
        # Lowest first, so that the trunk comes last; `sorted` keeps the order of edges among equals.
        stack.extend(reversed(sorted(mine, key=height.__getitem__)))
    return Layout(tuple(order), parent)
