"""The nodes of a graph, named, with the scopes of their modules: what every format is written from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..explanations.describe import StorageKey
from ..model.places import Place
from ..model.protocol import Node
from ..model.walk import walk
from ..model.wording import dtype_name
from ..pictures.data_inputs import data_inputs

OPERATION, LEAF, RESULT = "operation", "leaf", "result"
Output = tuple[tuple[int, ...] | None, str]  # shape and dtype; None: not known


@dataclass(frozen=True, slots=True)
class ExportedNode:
    """An operation, a leaf or a result. ``name`` is unique, and begins with the scope: ``Net/Linear[first]/addmm``."""

    kind: str
    name: str
    op: str
    inputs: tuple[tuple[str, int] | None, ...]
    """Of each input the node that gives it, and which of its outputs it is; None: an input without history."""
    outputs: tuple[Output, ...]
    place: Place | None = None
    saved_bytes: int = 0

    @property
    def scope(self) -> str:
        """``Net/Linear[first]``."""
        return self.name.rpartition("/")[0]

    @property
    def label(self) -> str:
        """The last part of the name."""
        return self.name.rpartition("/")[2]


def exported(
    results: Mapping[str, Any],
    scope_of: Callable[[Node], str],
    leaf_name: Callable[[Any], str],
    written: Mapping[int, str] | None = None,
    data: Mapping[StorageKey, str] | None = None,
) -> list[ExportedNode]:
    """The graph of some tensors, inputs before what uses them.

    Args:
        results: tensors (or nodes) by the names that they get.
        scope_of: the scope of an operation's module, empty if none is known.
        leaf_name: the name of a leaf, with its scope; it gets the tensor, or None where that is gone.
        written: by their identity the names of leaves that are written already.
        data: by their storages the names of tensors without a gradient that are written already: indices, labels.
    """
    roots = {name: one.grad_fn if isinstance(one, _core.Tensor) else one for name, one in results.items()}
    names: dict[Node, str] = {}
    counts: Counter[str] = Counter()
    found: list[ExportedNode] = []
    nodes = list(reversed(walk([root for root in roots.values() if root is not None])))
    read = _data_read_by(nodes, data or {})
    for node in nodes:
        is_leaf = isinstance(node, _core.AccumulateGrad)
        variable = node.variable if isinstance(node, _core.AccumulateGrad) else None
        if variable is not None and id(variable) in (written or {}):
            names[node] = (written or {})[id(variable)]
            continue
        name = leaf_name(variable) if is_leaf else "/".join(filter(None, (scope_of(node), node.op)))
        counts[name] += 1
        names[node] = name if counts[name] == 1 else f"{name}_{counts[name] - 1}"
        found.append(_exported_node(node, names, is_leaf, read.get(node, ())))
    return found + [_result(name, one, names, written or {}) for name, one in results.items()]


def _data_read_by(nodes: Sequence[Node], names: Mapping[StorageKey, str]) -> dict[Node, list[str]]:
    """What operations read without a gradient, of the data that have names."""
    operations = [node for node in nodes if not isinstance(node, _core.AccumulateGrad)]
    read: dict[Node, list[str]] = {}
    for one in data_inputs(operations, names) if names else ():
        for user in one.users if one.title in names.values() else ():
            read.setdefault(operations[user], []).append(one.title)
    return read


def _exported_node(node: Node, names: Mapping[Node, str], is_leaf: bool, data: Sequence[str]) -> ExportedNode:
    below = [None if one is None else (names[one], output) for one, output in node.next_functions]
    return ExportedNode(
        LEAF if is_leaf else OPERATION,
        names[node],
        "Parameter" if is_leaf else node.op,
        (*below, *((name, 0) for name in data)),
        tuple((shape, dtype_name(dtype)) for shape, dtype in node.outputs),
        None if is_leaf else Place.of(node.made_at),
        sum(slot.view_nbytes for slot in node.saved),
    )


def _result(name: str, x: Any, names: Mapping[Node, str], written: Mapping[int, str]) -> ExportedNode:
    if not isinstance(x, _core.Tensor):
        shape, dtype = next(iter(x.outputs), (None, ""))
        return ExportedNode(RESULT, name, "result", ((names[x], 0),), ((shape, dtype_name(dtype)),))
    output: Sequence[Output] = [(tuple(x.shape), dtype_name(x.dtype))]
    below = (names[x.grad_fn], x.output_nr) if x.grad_fn is not None else None
    if below is None and id(x) in written:
        below = (written[id(x)], 0)
    return ExportedNode(RESULT, name, "result", () if below is None else (below,), tuple(output))
