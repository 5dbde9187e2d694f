"""Nodes of a graph that may be gone: what the core copied of them at a backward, in the form that is described."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.wording import dtype_name
from ..program.names import Names
from .describe import CopiedNode, LeafFacts, describe, groups_of, shortened, totals_of
from .explanation import Explanation

_EDGES = 5  # the place of a row's inputs
_NONE, _HIDDEN = -1, -2  # in place of a row's number: an input that needs no gradient; a node that was not copied


def explain_copy(copy: dict[str, Any], names: Names) -> Explanation:
    """The explanation of a graph that ``_core.BackwardLog`` copied; ``names`` has leaves by number."""
    totals, _ = totals_of(copy["totals"])
    subject = f"graph of {', '.join(copy['roots'])}"
    nodes = describe(copied_nodes(copy["nodes"]), names)
    totals.still_held_by = shortened(name for node in nodes for slot in node.saved for name in slot.still_held_by)
    return Explanation(subject, "", nodes, totals, groups=groups_of(copy["groups"]))


def copied_nodes(rows: Sequence[tuple[Any, ...]]) -> list[CopiedNode]:
    """The rows as nodes, in topological order."""
    hidden = CopiedNode("", "", None, (), (), (), None, 0, None)
    nodes = []
    for title, op, site, outputs, saved, _, released, nbytes, leaf, *costs in rows:
        number, storage, identity, shape, dtype = leaf or (0, 0, 0, (), "")
        facts = None if leaf is None else LeafFacts(number, storage, identity, shape, dtype_name(dtype))
        nodes.append(CopiedNode(title, op, site, tuple(outputs), tuple(saved), (), released, nbytes, facts, *costs))
    for node, row in zip(nodes, rows, strict=True):
        node.next_functions = tuple(
            (None if below == _NONE else hidden if below == _HIDDEN else nodes[below], output)
            for below, output in row[_EDGES]
        )
    return nodes
