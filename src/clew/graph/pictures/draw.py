"""``clew.graph.draw``: from a graph to its picture."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from ... import _core
from ..explanations.explain import explain
from ..model.module_guess import ModuleOf
from ..model.protocol import Node, Tensor, is_node, is_tensor
from ..model.walk import walk
from ..program import modules
from ..program.frames import user_frames
from ..program.names import MOST_FOR_LEAVES, names_of, names_of_leaves
from .arrange import Naming, arrange
from .columns import LEAF, RESULT, Columns, Entry, ordered, shape_text
from .data_inputs import names_by_storage
from .groups import Groups
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

    The picture keeps no graph alive. :meth:`Picture.snapshot` adds the state at a later moment. :func:`film` adds it
    after each backward.

    Args:
        x: a tensor, a node, a sequence of them, or a dict of tensors, whose keys become names.
        params: names for leaves, such as ``dict(model.named_parameters())``. An operation that uses ``layers.3.weight``
            is drawn as part of the module ``layers.3``. You may also name tensors without a gradient, such as a batch
            or labels. By default, leaves get names from the variables of the calling functions:
            ``model.layers.3.weight``. Results of operations have those names, too: ``h = TanhBackward0``.
        show_attrs: whether boxes list the attributes of operations (``dim``, ``exponent``).
        show_saved: whether to draw what each node saved.
        max_attr_chars: attributes are cut to as many characters.
        module_of: a function that returns the module that created a node (``layers.3``), or None if it is not known.
        most_nodes: a graph with more nodes becomes a table by line and operation.

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
        ['weight', 'MulBackward0', 'SumBackward0', 'loss']
    """
    results = _results(x)
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(
            f"draw: expected params to map names to tensors, got {type(params).__name__}; "
            "pass dict(model.named_parameters())"
        )
    nodes = walk([node for _, _, node in results if node is not None])
    if len(nodes) > most_nodes:
        return Picture(summary=summarise(nodes))
    frames = user_frames(sys._getframe(1))
    names = names_of_leaves(nodes, frames) if params is None else {id(tensor): name for name, tensor in params.items()}
    operations = ordered(nodes)
    leaves = [node for node in nodes if isinstance(node, _core.AccumulateGrad)]
    naming = Naming(
        names,
        names_by_storage(params or {}),
        module_of or modules.module_of,
        max_attr_chars if show_attrs else 0,
    )
    groups, columns = arrange(operations, leaves, naming)
    variables = _variables(nodes, [tensor for _, tensor, _ in results if tensor is not None], frames)
    for row, reference in enumerate(columns.nodes):
        node = reference() if reference is not None else None
        if node in variables and all(node is not drawn for _, tensor, drawn in results if tensor is not None):
            columns.variables[row] = variables[node]
    for name, tensor, node in results:
        if tensor is not None:
            given = isinstance(x, Mapping) or node is None
            _add_result(columns, groups, nodes, name if given else variables.get(node, name), tensor, node, names)
    picture = Picture(columns, groups, show_saved=show_saved)
    picture.snapshot()
    return picture


def _variables(nodes: Sequence[Node], results: list[Any], frames: list[FrameType]) -> dict[Node | None, str]:
    """What the running code calls the results of operations; of what is drawn first."""
    inside = set(nodes)
    living = [one for one in _core.live_tensors() if not one.is_leaf and one._held_node in inside]
    found = names_of([*results, *living], frames, MOST_FOR_LEAVES).tensors
    named: dict[Node | None, str] = {}
    for tensor in (*results, *living):
        name = found.get(id(tensor))
        if name is not None and ":" not in name:
            named.setdefault(tensor.grad_fn, name)
    return named


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
