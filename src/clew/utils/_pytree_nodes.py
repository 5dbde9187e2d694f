"""What is a node of a tree: how its children are reached, and how it is made of them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .._size import Size

PyTree = Any
IsLeaf = Callable[[Any], bool] | None
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]


class NamedTuple:
    """What stands for all named tuples in the registry."""


def _dict_like(made: Callable[[Any, Any], Any], context: Callable[[Any], Any] = list) -> tuple[Flatten, Unflatten]:
    return lambda node: (list(node.values()), context(node)), made


def _default_dict(children: Iterable[Any], context: Any) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, children, strict=True))


NODES: dict[type, tuple[Flatten, Unflatten]] = {
    list: (lambda node: (node, None), lambda children, _: list(children)),
    tuple: (lambda node: (list(node), None), lambda children, _: tuple(children)),
    Size: (lambda node: (list(node), None), lambda children, _: tuple(children)),
    deque: (lambda node: (list(node), node.maxlen), lambda children, size: deque(children, maxlen=size)),
    dict: _dict_like(lambda children, keys: dict(zip(keys, children, strict=True))),
    OrderedDict: _dict_like(lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    defaultdict: _dict_like(_default_dict, lambda node: [node.default_factory, list(node)]),
    NamedTuple: (lambda node: (list(node), type(node)), lambda children, kind: kind(*children)),
}


BATCHING: list[type] = []  # nodes that are leaves to vmap: they put their tensors into a batch by `_add_batch_dim`


@dataclass(frozen=True)
class SequenceKey:
    """The place of a child in a list, tuple or deque."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, parent: Any) -> Any:
        """The child of this parent."""
        return parent[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The key of a child in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, parent: Any) -> Any:
        """The child of this parent."""
        return parent[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of a child that is an attribute, as those of named tuples are."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        """The child of this parent."""
        return getattr(parent, self.name)


_PATHS: dict[type, Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]] = {}
"""Of classes that were registered with it: from an object to pairs of key and child, and the context."""


def children_with_keys(kind: type, node: Any) -> Iterable[tuple[Any, Any]]:
    if kind in _PATHS:
        return _PATHS[kind](node)[0]
    if kind is NamedTuple:
        return [(GetAttrKey(name), getattr(node, name)) for name in node._fields]
    if isinstance(node, dict):
        return [(MappingKey(key), child) for key, child in node.items()]
    if kind not in (list, tuple, deque):
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}; give it to register_pytree_node")
    return [(SequenceKey(index), child) for index, child in enumerate(node)]


def register_pytree_node(
    cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten, *, flatten_with_keys_fn: Any = None, **options: Any
) -> None:
    """Make objects of a class nodes of trees.

    Args:
        flatten_fn: from an object to its children and a context that can be compared.
        unflatten_fn: from children and context to an object.
        flatten_with_keys_fn: as `flatten_fn`, with pairs of a key (such as `GetAttrKey("x")`) and a child.
        options: how a structure is written to a file, which is not supported; accepted.

    Raises:
        ValueError: the class is one already.
    """
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    NODES[cls] = flatten_fn, unflatten_fn
    if hasattr(cls, "_add_batch_dim"):
        BATCHING.append(cls)
    if flatten_with_keys_fn is not None:
        _PATHS[cls] = flatten_with_keys_fn


def kind_of(tree: Any) -> type | None:
    kind = type(tree)
    if kind in NODES:
        return kind
    return NamedTuple if isinstance(tree, tuple) and hasattr(kind, "_fields") else None
