"""Finding a pattern in a graph, and putting another in its place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _get_attr, _has_attr
from .node import Node

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """Where a pattern was found.

    Attributes:
        anchor: the last node of the pattern.
        nodes_map: the node of the graph for each node of the pattern.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """Where a pattern was found, and the nodes that are there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Put `replacement` wherever `pattern` is in the graph of `gm`, and make its code anew.

    Args:
        gm: the module, which is changed.
        pattern: a function or a graph module. Its parameters match any values; its values, but for those that it
            returns, must not be used elsewhere.
        replacement: a function or a graph module with as many parameters, and as many results.

    Returns:
        Where the pattern was. Of places that overlap, the first is changed.

    Example:
        >>> traced = torch.fx.symbolic_trace(lambda x, y: torch.relu(x + y) * 2)
        >>> _ = torch.fx.replace_pattern(traced, lambda a, b: torch.relu(a + b), lambda a, b: torch.neg(a - b))
        >>> print(traced.code.strip())
        def forward(self, x, y):
            sub = x - y;  x = y = None
            neg = torch.neg(sub);  sub = None
            mul = neg * 2;  neg = None
            return mul
    """
    found = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(one.anchor, one.nodes_map) for one in found]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[Any, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[Any, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, of places for which all filters answer True."""
    from .passes.utils.matcher_utils import SubgraphMatcher

    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matches = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals).match(graph, node_name_match)
    matches = [one for one in matches if all(keep(one, graph, pattern_graph) for keep in match_filters or ())]
    if replacement is None and replacement_callback is None:
        raise AssertionError("replace_pattern: expected a replacement or a replacement_callback, got neither")
    common = None if replacement is None else _graph_of(replacement)
    now: dict[Node, Node] = {}  # what stands for a node that an earlier place returned
    replaced = []
    for match in matches:
        new = replacement_callback(match, graph, pattern_graph) if replacement_callback else common
        assert new is not None
        replaced.append(_replace(graph, pattern_graph, match, new, now))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return replaced


def _graph_of(given: Any) -> Graph:
    if isinstance(given, Graph):
        return given
    return given.graph if isinstance(given, GraphModule) else symbolic_trace(given).graph


def _replace(graph: Graph, pattern: Graph, match: Any, new: Graph, now: dict[Node, Node]) -> ReplacedPatterns:
    places = [node for node in new.nodes if node.op == "placeholder"]
    if len(places) != len(match.placeholder_nodes):
        raise AssertionError(
            f"replace_pattern: expected a replacement with {len(match.placeholder_nodes)} parameters, got {len(places)}"
        )

    def current(node: Any) -> Any:
        return now.get(node, node) if isinstance(node, Node) else node

    match.placeholder_nodes = list(map(current, match.placeholder_nodes))
    match.nodes_map.update({
        key: current(node) for key, node in match.nodes_map.items() if key.op == "placeholder"
    })  # fmt: skip
    val_map: dict[Node, Any] = dict(zip(places, match.placeholder_nodes, strict=True))
    users = {user for node in match.returning_nodes for user in node.users}
    before = min(users) if users else max(match.returning_nodes).next
    with graph.inserting_before(before):
        results = graph.graph_copy(new, val_map)
    results = (results,) if isinstance(results, Node) else tuple(results)
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"replace_pattern: expected a replacement with {len(match.returning_nodes)} results, got {len(results)}"
        )
    for old, copied in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(copied)
        now[old] = copied
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    added = [node for node in val_map.values() if not any(node is one for one in match.placeholder_nodes)]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    """Copy what the new nodes name to the module, where it has nothing under that name."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        target = str(node.target)
        if node.op not in ("call_module", "get_attr") or _has_attr(gm, target):
            continue
        if not _has_attr(replacement, target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {target}, but the '
                "referenced attribute does not exist in the replacement GraphModule"
            )
        value = copy.deepcopy(_get_attr(replacement, target))
        if isinstance(value, Module):
            gm.add_submodule(target, value)
        else:
            setattr(gm, target, value)
    gm.graph.lint()
