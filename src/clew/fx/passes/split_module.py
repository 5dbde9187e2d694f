"""Splits a graph module into modules that call each other."""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

from ..graph import Graph
from ..graph_module import GraphModule, _get_attr
from ..node import Node, map_arg

__all__ = ["split_module"]


class _Part:
    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.after: dict[str, None] = {}
        self.before: dict[str, None] = {}


def split_module(
    m: GraphModule,
    root_m: Any,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A module whose parts are modules of their own: `submod_0`, `submod_1`, ...

    Args:
        m: the module.
        root_m: nothing.
        split_callback: gives for each node the number of its part.
        qualname_map: gets the old name of each module, by its new one.
        keep_original_order: call parts in the order in which they begin.
        keep_original_node_name, keep_original_input_name: keep these names in the parts.
        partition_affix: comes before the number in their names.
        tuple_return: return a tuple where there is one result, too.

    Raises:
        RuntimeError: two parts need each other.

    Example:
        >>> from torch.fx.passes.split_module import split_module
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
        >>> split = split_module(traced, None, lambda node: int(node.name == "relu"))
        >>> print(split.code.strip())
        def forward(self, x):
            submod_0 = self.submod_0(x);  x = None
            submod_1 = self.submod_1(submod_0);  submod_0 = None
            return submod_1
    """
    parts: dict[str, _Part] = {}
    part_of: dict[Node, _Part] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            if node.op == "output":
                for used in node.all_input_nodes:
                    if used in part_of:
                        part_of[used].outputs[used] = None
            continue
        key = str(split_callback(node))
        part = part_of[node] = parts.setdefault(key, _Part(key))
        part.nodes.append(node)
        for used in node.all_input_nodes:
            source = part_of.get(used)
            if source is part:
                continue
            part.inputs[used] = None
            if source is not None:
                source.outputs[used] = None
                part.after[source.name] = source.before[key] = None

    base, values, modules = Graph(), dict[Node, Node](), dict[str, Any]()

    def value(node: Node) -> Node:
        if node not in values:
            values[node] = base.node_copy(node)
            if node.op == "get_attr":
                modules[str(node.target)] = _get_attr(m, str(node.target))
        return values[node]

    for node in m.graph.nodes:
        if node.op == "placeholder" or (node.op == "get_attr" and not keep_original_order):
            value(node)
    prefix = "submod_" + (f"{partition_affix}_" if partition_affix else "")
    for part in parts.values() if keep_original_order else _sorted(parts):
        name = prefix + part.name
        graph, inner, targets = Graph(), dict[Node, Node](), dict[str, Any]()
        for count, used in enumerate(part.inputs):
            inner[used] = graph.placeholder(used.name if keep_original_input_name else f"arg_{count}", used.type)
            inner[used].meta = used.meta.copy()
        for node in part.nodes:
            target = node.target
            if node.op == "call_module":
                target = str(target).replace(".", "_")
                targets[target] = _get_attr(m, str(node.target))
                if qualname_map is not None:
                    qualname_map[f"{name}.{target}"] = str(node.target)
            args, kwargs = (map_arg(one, inner.__getitem__) for one in (node.args, node.kwargs))
            kept = node.name if keep_original_node_name else None
            inner[node] = graph.create_node(node.op, target, args, dict(kwargs), kept, node.type)
            inner[node].meta = node.meta.copy()
        results = tuple(inner[node] for node in part.outputs)
        several = len(results) != 1 or tuple_return
        graph.output(results if several else results[0])
        modules[name] = GraphModule(targets, graph)
        called = base.call_module(name, tuple(map(value, part.inputs)))
        for place, node in enumerate(part.outputs):
            values[node] = base.call_function(getitem, (called, place)) if several else called
    base.output(map_arg(m.graph.output_node().args[0], value))
    made = GraphModule(modules, base)
    made.meta["partition_names"] = {prefix + name for name in parts}
    return made


def _sorted(parts: dict[str, _Part]) -> list[_Part]:
    """The parts, each after those whose values it needs."""
    needed = {name: set(part.after) for name, part in parts.items()}
    ready, order = [name for name in parts if not needed[name]], []
    while ready:
        part = parts[ready.pop()]
        order.append(part)
        for name in part.before:
            needed[name].remove(part.name)
            if not needed[name]:
                ready.append(name)
    if len(order) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return order
