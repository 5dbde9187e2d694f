"""Where a graph has a pattern."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """Where a pattern was found.

    Attributes:
        anchors: the last nodes of the pattern.
        nodes_map: what each node of the pattern is in the graph.
        placeholder_nodes: what the parameters of the pattern are.
        returning_nodes: what its results are.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes)
        )


class SubgraphMatcher:
    """Finds a pattern in graphs.

    Args:
        pattern: its graph.
        match_output: the output of the pattern is that of the graph.
        match_placeholder: the parameters of the pattern are parameters of the graph, not any values.
        remove_overlapping_matches: of places that overlap, give the first.
        ignore_literals: let a number of the pattern match any.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher: expected a pattern with nodes, got an empty one")
        for node in pattern.nodes:
            if node.op not in ("placeholder", "output") and not node.users and not node.is_impure():
                raise AssertionError("SubgraphMatcher: expected a pattern without dead code; nobody uses " + node.name)
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        last = [node for node in self.pattern_returning_nodes if len(node.users) == 1]
        self.pattern_anchors = [output] if match_output else last

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """All places of the pattern: whose values, but for results, only the place itself uses."""
        candidates = [
            [node for node in graph.nodes if self._alike(anchor, node, node_name_match)]
            for anchor in self.pattern_anchors
        ]
        found: list[InternalMatch] = []
        if self.pattern_anchors and all(candidates):
            found.extend(self._extended(InternalMatch(self.pattern_anchors), candidates, node_name_match))
        taken: set[Node] = set()
        kept = []
        for match in found:
            inside = [node for one, node in match.nodes_map.items() if one.op not in ("placeholder", "output")]
            if not self._is_closed(match) or not is_convex(inside):
                continue
            if self.remove_overlapping_matches and taken.intersection(inside):
                continue
            taken.update(inside)
            kept.append(match)
        return kept

    def _extended(self, match: InternalMatch, candidates: Sequence[list[Node]], name: str) -> Iterator[InternalMatch]:
        """All matches that begin as this one, with a candidate for each of the last anchors."""
        if not candidates:
            match.placeholder_nodes = [match.nodes_map[one] for one in self.pattern_placeholder_nodes]
            match.returning_nodes = [match.nodes_map[one] for one in self.pattern_returning_nodes]
            yield match
            return
        anchor = self.pattern_anchors[-len(candidates)]
        for node in candidates[0]:
            trial = copy.copy(match)
            if self._match_nodes(anchor, node, trial, name):
                yield from self._extended(trial, candidates[1:], name)

    def _alike(self, wanted: Node, node: Node, name: str) -> bool:
        """Whether the node could be this one of the pattern, going by what it calls."""
        if (wanted.op == "placeholder" and not self.match_placeholder) or (name and name in node.name):
            return True
        if wanted.op != node.op:
            return False
        if wanted.op == "get_attr":
            mine, its = (_get_attr(one.graph.owning_module, str(one.target)) for one in (wanted, node))  # type: ignore[arg-type]
            return type(mine) is type(its)
        return wanted.op in ("placeholder", "output") or wanted.target == node.target

    def _match_nodes(self, wanted: Node, node: Node, match: InternalMatch, name: str) -> bool:
        if wanted in match.nodes_map:
            return match.nodes_map[wanted] is node
        if any(node is one for one in match.nodes_map.values()) or not self._alike(wanted, node, name):
            return False
        match.nodes_map[wanted] = node
        if wanted.op == "placeholder":
            return True
        if list(wanted.kwargs) != list(node.kwargs):
            return False
        mine, its = ([*one.args, *one.kwargs.values()] for one in (wanted, node))
        return self._match_values(mine, its, match)

    def _match_values(self, wanted: Any, values: Any, match: InternalMatch) -> bool:
        if len(wanted) != len(values):
            return False
        for one, value in zip(wanted, values, strict=True):
            if isinstance(one, Node) and isinstance(value, Node):
                alike = self._match_nodes(one, value, match, "")
            elif isinstance(one, (list, tuple)) and isinstance(value, (list, tuple)):
                alike = self._match_values(one, value, match)
            else:
                alike = self._match_literals(one, value, match) or self.ignore_literals
            if not alike:
                return False
        return True

    @staticmethod
    def _match_literals(one: Any, value: Any, match: InternalMatch) -> bool:
        if isinstance(one, Node):
            if one.op != "placeholder":
                return False
            return bool(match.nodes_map.setdefault(one, value) == value)
        return not isinstance(value, Node) and type(one) is type(value) and bool(one == value)

    def _is_closed(self, match: InternalMatch) -> bool:
        """Whether nobody outside uses values that the pattern does not return."""
        inside = {node: one for one, node in match.nodes_map.items() if one.op != "placeholder"}
        return all(
            one in self.pattern_returning_nodes or all(user in inside for user in node.users)
            for node, one in inside.items()
        )


def is_convex(nodes: list[Node]) -> bool:
    """Whether no value goes out of these nodes and, through others, in again."""
    inside = set(nodes)
    if not inside:
        return True
    last = max(inside)
    seen: set[Node] = set()
    pending = [user for node in inside for user in node.users if user not in inside]
    while pending:
        node = pending.pop()
        if node in seen or last < node:
            continue
        seen.add(node)
        if any(user in inside for user in node.users):
            return False
        pending += node.users
    return True
