"""What a question may be about: a tensor, a node, or whatever holds some, such as the output of a module."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Set
from typing import Any

from .protocol import Node, Tensor, is_node, is_tensor

MOST_DEPTH = 20
_PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), type)


def parts(x: object, path: str = "") -> list[tuple[str, Tensor | Node]]:
    """The tensors and nodes in ``x``, each with the path to it.

    Looked through are sequences, sets, mappings, named tuples, dataclasses and other objects with attributes; modules
    are not, as they are no results.

    Example:
        >>> output = {"logits": clew.ones(2), "hidden": [clew.zeros(3), None]}
        >>> [(path, tuple(tensor.shape)) for path, tensor in parts(output)]
        [("['logits']", (2,)), ("['hidden'][0]", (3,))]
    """
    return list(_parts(x, path, set(), 0))


def roots_of(found: list[tuple[str, Tensor | Node]]) -> list[Node]:
    """The nodes that the graphs of these end in; tensors without history have none."""
    nodes = (item.grad_fn if is_tensor(item) else item for _, item in found)
    return list(dict.fromkeys(node for node in nodes if is_node(node)))


def _parts(x: Any, path: str, above: set[int], depth: int) -> Iterator[tuple[str, Tensor | Node]]:
    if isinstance(x, _PLAIN) or id(x) in above or depth > MOST_DEPTH:
        return
    if is_node(x) or is_tensor(x):
        yield path, x
        return
    above.add(id(x))
    for step, inner in _children(x):
        yield from _parts(inner, path + step, above, depth + 1)
    above.discard(id(x))


def _children(x: Any) -> Iterator[tuple[str, object]]:
    if isinstance(x, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in list(x.items()))
    elif isinstance(x, tuple) and hasattr(x, "_fields"):
        yield from ((f".{name}", value) for name, value in zip(x._fields, x, strict=True))
    elif isinstance(x, (list, tuple)):
        yield from ((f"[{number}]", value) for number, value in enumerate(x))
    elif isinstance(x, Set):
        yield from (("{...}", value) for value in list(x))
    elif dataclasses.is_dataclass(x):
        yield from ((f".{field.name}", getattr(x, field.name, None)) for field in dataclasses.fields(x))
    elif not hasattr(x, "named_parameters") and not isinstance(x, BaseException) and not callable(x):
        yield from ((f".{name}", value) for name, value in list(getattr(x, "__dict__", {}).items()))
