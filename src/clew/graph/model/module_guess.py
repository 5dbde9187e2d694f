"""Which module made a node, as far as the graph itself tells: by the parameters that it consumes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import _core
from ..._operation import MANY_VIEWS, VIEW
from .protocol import Node

ModuleOf = Callable[[Any], "str | None"]


@functools.cache
def passes_on(operation: str) -> bool:
    """Whether its result is its input in another shape or dtype."""
    said = getattr(_core.ops, operation, None)
    flags = said.overloads[0]["flags"] if said else 0
    return operation == "_cast" or bool(flags & (VIEW | MANY_VIEWS))


def modules_by_parameters(nodes: Sequence[Node], name_of: Callable[[Node], str | None]) -> dict[Node, str]:
    """Which module made a node, as far as parameters tell: what consumes ``layers.3.weight`` belongs to ``layers.3``.

    Consumes means: together with something else. What is computed from parameters alone (a penalty on their size) is
    in no module; views of them (a transposed weight) are in that of their consumer.

    Args:
        nodes: inputs first.
        name_of: gives a parameter's name from its ``AccumulateGrad`` node; None for other nodes.
    """
    module: dict[Node, str] = {}
    views: dict[Node, tuple[str, list[Node]]] = {}  # of parameters: whose, and through which nodes
    for node in nodes:
        known: list[str] = []
        through: list[Node] = []
        below_nodes = [below for below, _ in node.next_functions]
        for below in below_nodes:
            name = None if below is None else name_of(below)
            if name is not None:
                known.append(name.rpartition(".")[0])
            elif below in views:
                known.append(views[below][0])
                through += views[below][1]
        if known and len(known) == len(below_nodes) == 1 and passes_on(node.op):
            views[node] = (known[0], [*through, node])
        elif known and len(known) < len(below_nodes):
            module[node] = common_module(known)
            module.update(dict.fromkeys(through, module[node]))
    return {node: name for node, name in module.items() if name}


def common_module(names: Sequence[str]) -> str:
    """The innermost module that contains all.

    Example:
        >>> common_module(["encoder.0.norm", "encoder.0.linear"])
        'encoder.0'
    """
    parts = [name.split(".") for name in names]
    shared = []
    for components in zip(*parts, strict=False):
        if len(set(components)) > 1:
            break
        shared.append(components[0])
    return ".".join(shared)


def fill_modules(nodes: Sequence[Node], known: Mapping[Node, str]) -> dict[Node, str]:
    """Guess the modules of nodes that consume no parameter, such as activations.

    What ran between two nodes of one module, in the same function as both, belongs to that module.

    Args:
        nodes: in the order in which they ran.
        known: the modules of some of them.
    """
    filled = dict(known)
    before: Node | None = None
    between: list[Node] = []
    for node in nodes:
        if node not in known:
            between.append(node)
            continue
        if before is not None and between:
            module = common_module([known[before], known[node]])
            functions = {function_of(one) for one in (before, *between, node)}
            if module and len(functions) == 1 and functions.pop()[1] not in ("", "<module>"):
                filled.update(dict.fromkeys(between, module))
        before, between = node, []
    return filled


def function_of(node: Node) -> tuple[str, str]:
    """File and name of the function that made a node; empty where it is not known."""
    site = node.made_at
    return ("", "") if site is None else (site.file, site.function)
