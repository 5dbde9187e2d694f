"""How many floating-point operations the forward of a node takes, from its shapes alone."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..model.module_guess import passes_on
from ..model.protocol import Node

Shape = tuple[int, ...]


class _Shapes:
    """The shapes of a node's inputs and of its first result, where the graph still tells them."""

    def __init__(self, node: Node) -> None:
        self._saved = {slot.name: tuple(slot.shape) for slot in node.saved}
        self._below = [None if one is None else one.outputs[index][0] for one, index in node.next_functions]
        self.result: Shape = tuple(node.outputs[0][0] or ()) if node.outputs else ()

    def of(self, name: str, place: int) -> Shape | None:
        """Of the input of this name, which is the differentiable one at this place."""
        if name in self._saved:
            return self._saved[name]
        below = self._below[place] if place < len(self._below) else None
        return None if below is None else tuple(below)


def flops(node: Node) -> float | None:
    """The count, with a multiplication and an addition as two; None where the formula is not known.

    Example:
        >>> a, b = clew.ones(2, 3, requires_grad=True), clew.ones(3, 4)
        >>> flops((a @ b).grad_fn)
        48.0
    """
    shapes = _Shapes(node)
    rule = _RULES.get(node.op)
    if rule is not None:
        found = rule(shapes)
        return None if found is None else float(found)
    if passes_on(node.op):
        return 0.0
    if not node.outputs or node.outputs[0][0] is None:
        return None
    first = shapes._below[0] if shapes._below else None
    return float(max(math.prod(shapes.result), math.prod(first or ())))


def _product(left: str, right: str, place: int) -> Callable[[_Shapes], float | None]:
    """Of two matrices, of which the left is the input at ``place``."""

    def rule(shapes: _Shapes) -> float | None:
        a, b = shapes.of(left, place), shapes.of(right, place + 1)
        inner = a[-1] if a else b[-2] if b and len(b) > 1 else b[-1] if b else None
        return None if inner is None else 2 * math.prod(shapes.result) * inner

    return rule


def _convolution(shapes: _Shapes) -> float | None:
    data, weight = shapes.of("input", 0), shapes.of("weight", 1)
    if not data or not weight:
        return None
    channels = len(data) - len(weight) + 1
    if weight[0] == shapes.result[channels]:
        if weight[0] == data[channels] and math.prod(shapes.result) > math.prod(data):
            return None  # of either kind, for all that the shapes tell
        return 2 * math.prod(shapes.result) * math.prod(weight[1:])
    return 2 * math.prod(data) * math.prod(weight[1:])  # transposed


def _attention(shapes: _Shapes) -> float | None:
    query, key = shapes.of("query", 0), shapes.of("key", 1)
    return None if not query or not key else 4 * math.prod(query) * key[-2]


def _recurrent(shapes: _Shapes) -> float | None:
    """Of a cell, or of all steps of a layer in one direction: the products with both weights, as PyTorch counts."""
    data, weight = shapes.of("input", 0), shapes.of("w_hh", 4)
    if not data or not weight:
        return None
    return 2 * math.prod(data[:-1]) * weight[0] * (data[-1] + weight[1])


def _nothing(_: _Shapes) -> float:
    return 0.0


_LOOKUPS = ("embedding", "_index", "gather", "index_select", "masked_select", "take")
_COPIES = ("_cat", "stack", "clone", "repeat", "flip", "roll", "_constant_pad_nd", "where", "masked_fill", "scatter")

_RULES: dict[str, Callable[[_Shapes], float | None]] = {
    **dict.fromkeys((*_LOOKUPS, *_COPIES), _nothing),
    "mm": _product("self", "mat2", 0),
    "bmm": _product("self", "mat2", 0),
    "mv": _product("self", "vec", 0),
    "dot": _product("self", "tensor", 0),
    "addmm": _product("mat1", "mat2", 1),
    "addmv": _product("mat", "vec", 1),
    "baddbmm": _product("batch1", "batch2", 1),
    "convolution": _convolution,
    "_flash_attention": _attention,
    "_lstm_cell": _recurrent,
    "_recurrent_layer": _recurrent,
}
