"""``clew.graph.draw``: from a graph to its picture."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ... import _core
from ..explanations.explain import explain
from ..model.module_guess import ModuleOf, fill_modules, function_of, modules_by_parameters
from ..model.places import Place
from ..model.protocol import Node, Tensor, is_node, is_tensor
from ..model.walk import walk
from ..program import modules
from .columns import LEAF, OPERATION, RESULT, Columns, Entry, ordered, shape_text
from .folding import Component, Groups, fold
from .picture import Picture
from .summary import summarise

MOST_NODES = 250_000  # a graph with more is summarised

Drawable = Tensor | Node | Sequence[Tensor | Node] | Mapping[str, Tensor]


def draw(
    x: Drawable,
    params: Mapping[str, Tensor] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
    *,
    module_of: ModuleOf | None = None,
    most_nodes: int = MOST_NODES,
) -> Picture:
    """A picture of the graph that ends in ``x``, as it is now. The arguments are those of torchviz's ``make_dot``.

    The picture keeps no graph alive. Its :meth:`Picture.snapshot` adds the state at a later moment; :func:`film` does
    that by itself after each backward.

    Args:
        x: a tensor, a node, a sequence of them, or a dict of tensors, whose keys are then their names.
        params: names for leaves, such as ``dict(model.named_parameters())``. What consumes ``layers.3.weight`` is
            drawn as part of the module ``layers.3``.
        show_attrs: whether to write the attributes of operations (``dim``, ``exponent``) into the boxes.
        show_saved: whether to draw what each node saved.
        max_attr_chars: attributes are cut to as many characters.
        module_of: tells which module made a node (``layers.3``), or None where it does not know.
        most_nodes: graphs with more are summarised in a table by line and operation.

    Returns:
        A picture with ``html``, ``svg``, ``png``, ``dot`` and ``save(path)``.

    Raises:
        TypeError: ``x`` is not what is listed above, or ``params`` is no mapping.
        ValueError: ``x`` is empty.

    Example:
        >>> weight = clew.ones(3, requires_grad=True)
        >>> loss = (weight * weight).sum()
        >>> picture = clew.graph.draw(loss, params={"weight": weight})
        >>> [row.title for row in picture.rows()]
        ['weight', 'MulBackward0', 'SumBackward0', 'result']
    """
    results = _results(x)
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(
            f"draw: expected params to map names to tensors, got {type(params).__name__}; "
            "pass dict(model.named_parameters())"
        )
    names = {id(tensor): name for name, tensor in (params or {}).items()}
    nodes = walk([node for _, _, node in results if node is not None])
    if len(nodes) > most_nodes:
        return Picture(summary=summarise(nodes))
    operations = ordered(nodes)
    leaves = [node for node in nodes if isinstance(node, _core.AccumulateGrad)]
    groups, columns = _arrange(
        operations,
        leaves,
        names,
        module_of or modules.module_of,
        attribute_width=max_attr_chars if show_attrs else 0,
    )
    for name, tensor, node in results:
        if tensor is not None:
            _add_result(columns, groups, nodes, name, tensor, node, names)
    picture = Picture(columns, groups, show_saved=show_saved)
    picture.snapshot()
    return picture


def _results(x: Any) -> list[tuple[str, Any, Node | None]]:
    """Name, tensor and node of each thing to draw."""
    if is_node(x):
        return [("", None, x)]
    if is_tensor(x):
        return [("result", x, x.grad_fn)]
    items: list[tuple[str, Any]]
    if isinstance(x, Mapping):
        items = [(str(name), item) for name, item in x.items()]
    elif isinstance(x, (list, tuple)):
        items = [(f"result {number}", item) for number, item in enumerate(x)]
    else:
        hint = "; call the module and draw its result" if hasattr(x, "named_parameters") else ""
        raise TypeError(
            f"draw: expected a tensor, a node, a sequence or a dict of tensors, got {type(x).__name__}{hint}"
        )
    if not items:
        raise ValueError("draw: expected at least one tensor, got none; pass the result of the computation")
    found: list[tuple[str, Any, Node | None]] = []
    for name, item in items:
        if is_node(item):
            found.append((name, None, item))
        elif is_tensor(item):
            found.append((name, item, item.grad_fn))
        else:
            raise TypeError(f"draw: expected tensors or nodes in the {type(x).__name__}, got {type(item).__name__}")
    return found


def _arrange(
    operations: Sequence[Node],
    leaves: Sequence[Node],
    names: Mapping[int, str],
    module_of: ModuleOf,
    attribute_width: int,
) -> tuple[Groups, Columns]:
    """Fold the nodes into groups, and write them down in the order of the groups."""
    columns = Columns()
    number: dict[Node, int] = {node: at for at, node in enumerate((*operations, *leaves))}
    # The function that made both the first and the last node is where all of it happens: to fold it says nothing.
    around = {function_of(node) for node in operations[:1]} & {function_of(node) for node in operations[-1:]}
    told = {node: module_of(node) for node in operations}
    guessed = fill_modules(operations, modules_by_parameters(operations, lambda node: _leaf_name(node, names)))
    users: list[list[int]] = [[] for _ in leaves]
    signatures, lines, paths = [], [], []
    for at, node in enumerate(operations):
        for below, _ in node.next_functions:
            leaf = -1 if below is None else number[below] - len(operations)
            if leaf >= 0:
                users[leaf].append(at)
        place = Place.of(node.made_at)
        signatures.append(columns.text.add(f"{type(node).__name__} {place and (place.file, place.line)}"))
        lines.append("" if place is None else place.short)
        function = function_of(node)
        paths.append(_path(told[node] or guessed.get(node) or "", function, function in around))
    drawn = [users_of_one for users_of_one in users if users_of_one]  # a leaf's node that was drawn itself has none
    columns.text = type(columns.text)()
    groups = fold(signatures, lines, paths, drawn, columns.text)
    used = [leaf for leaf, users_of_one in zip(leaves, users, strict=True) if users_of_one]
    everything = [*operations, *used]
    row: dict[Node, int] = {}
    for at in groups.order:
        node = everything[at]
        inputs = tuple(row[below] for below, _ in node.next_functions if below is not None)
        entry = Entry(OPERATION, node, inputs) if at < len(operations) else _leaf_entry(node, names)
        row[node] = columns.add(entry, _attributes(node, attribute_width) if attribute_width else "")
    for unused in (one for one, users_of_one in zip(leaves, users, strict=True) if not users_of_one):
        groups.append(columns.add(_leaf_entry(unused, names)))
    return groups, columns


def _leaf_name(node: Any, names: Mapping[int, str]) -> str | None:
    variable = getattr(node, "variable", None)
    return None if variable is None else names.get(id(variable))


def _leaf_entry(node: Any, names: Mapping[int, str]) -> Entry:
    if node.variable is None:
        return Entry(LEAF, node, title="leaf", remark="the leaf is gone: nothing will be accumulated")
    return Entry(LEAF, node, title=_leaf_name(node, names) or "leaf")


def _add_result(
    columns: Columns,
    groups: Groups,
    nodes: Sequence[Node],
    name: str,
    tensor: Any,
    node: Node | None,
    names: Mapping[int, str],
) -> None:
    shape = shape_text(tensor.shape, tensor.dtype)
    if node is None:
        told = explain(tensor)
        lost = f": {told.lost_by} at {told.lost_at}" if told.lost_by else ""
        title = names.get(id(tensor), name)
        entry = Entry(LEAF if tensor.requires_grad else RESULT, None, (), title, shape, told.remark + lost)
    else:
        at = next(row for row, reference in enumerate(columns.nodes) if reference is not None and reference() is node)
        entry = Entry(RESULT, None, (at,), name, shape)
    groups.append(columns.add(entry))


def _path(module: str, function: tuple[str, str], is_outermost: bool) -> tuple[Component, ...]:
    components: list[Component] = []
    parts = module.split(".") if module else []
    components += [("module", ".".join(parts[: depth + 1])) for depth in range(len(parts))]
    is_module_itself = bool(module) and function[1] == "forward"
    if function[1] not in ("", "<module>") and not is_outermost and not is_module_itself:
        components.append(("function", f"{function[1]}()"))
    return tuple(components)


@functools.cache
def _attribute_names(op: str) -> tuple[str, ...]:
    """Names of an operation's arguments that may be attributes, from its schemas in the registry."""
    operation = getattr(_core.ops, op, None)
    schemas = [] if operation is None else [overload["schema"] for overload in operation.overloads]
    found = [name for schema in schemas for name in re.findall(r"(\w+)(?=\s*[,=)])", schema)]
    return tuple(dict.fromkeys(found))


def _attributes(node: Any, width: int) -> str:
    """``dim=(1,), keepdim=False``: what the operation was told besides its inputs."""
    saved = {slot.name for slot in node.saved}
    found = []
    for name in _attribute_names(node.op):
        if name in saved:
            continue
        try:
            value = getattr(node, f"_saved_{name}")
        except (AttributeError, RuntimeError):  # none of that name, or freed
            continue
        if value is not None and not is_tensor(value):
            found.append(f"{name}={value!r}"[:width])
    return ", ".join(found)
