"""Trees of containers: take them apart into leaves, and put them together again.

Lists, tuples, named tuples, dicts, ordered and default dicts and deques are nodes, and what `register_pytree_node`
adds; all else is a leaf, None too.
"""

from __future__ import annotations

import typing
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from .._unsupported import missing_from
from ._pytree_nodes import (
    NODES,
    GetAttrKey,
    IsLeaf,
    MappingKey,
    NamedTuple,
    PyTree,
    SequenceKey,
    children_with_keys,
    kind_of,
    register_pytree_node,
)

__all__ = [
    "GetAttrKey",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "TreeSpec",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a tree: everything but its leaves."""

    type: Any  # None: a leaf
    context: Any = None
    children_specs: list[TreeSpec] = field(default_factory=list)

    @property
    def num_leaves(self) -> int:
        """How many leaves the tree has."""
        return 1 if self.type is None else sum(one.num_leaves for one in self.children_specs)

    @property
    def num_children(self) -> int:
        """How many children the outermost node has."""
        return len(self.children_specs)

    @property
    def num_nodes(self) -> int:
        """How many nodes and leaves there are."""
        return 1 + sum(one.num_nodes for one in self.children_specs)

    def is_leaf(self) -> bool:
        """Whether the whole tree is one leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: PyTree) -> list[Any]:
        """The parts of a tree that begins as this one: what stands where this one has leaves."""
        if self.type is None:
            return [tree]
        kind = kind_of(tree)
        if kind is not self.type or kind is None:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = NODES[kind][0](tree)
        if isinstance(tree, dict) and context != self.context and set(tree) == set(_keys(self.context)):
            children = [tree[key] for key in _keys(self.context)]
        elif context != self.context:
            raise ValueError(f"Node context mismatch; expected {self.context!r}, but got {context!r}.")
        children = list(children)
        if len(children) != len(self.children_specs):
            raise ValueError(f"Node arity mismatch; expected {len(self.children_specs)}, but got {len(children)}.")
        return [one for spec, child in zip(self.children_specs, children, strict=True)
                for one in spec.flatten_up_to(child)]  # fmt: skip

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        name = "namedtuple" if self.type is NamedTuple else self.type.__name__
        return f"TreeSpec({name}, {self.context}, [{', '.join(map(repr, self.children_specs))}])"


def _keys(context: Any) -> list[Any]:
    """The keys of a dict from its context; a default dict's has its factory, too."""
    keys: list[Any] = context[1] if len(context) == 2 and isinstance(context[1], list) else context
    return keys


def _taken_apart(tree: PyTree, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        leaves.append(tree)
        return TreeSpec(None)
    children, context = NODES[kind][0](tree)
    return TreeSpec(kind, context, [_taken_apart(child, is_leaf, leaves) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure.

    Args:
        is_leaf: says of a node whether it is to be a leaf.

    Example:
        >>> leaves, spec = torch.utils._pytree.tree_flatten({"a": 1, "b": [2, (3,)]})
        >>> leaves
        [1, 2, 3]
        >>> torch.utils._pytree.tree_unflatten([4, 5, 6], spec)
        {'a': 4, 'b': [5, (6,)]}
    """
    leaves: list[Any] = []
    spec = _taken_apart(tree, is_leaf, leaves)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of this structure with these leaves.

    Raises:
        ValueError: there are more or fewer leaves than it has.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten: expected the structure to be a TreeSpec, got {type(treespec).__name__}")
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten: expected {treespec.num_leaves} leaves for the structure {treespec}, got {len(given)}"
        )
    return _built(treespec, iter(given))


def _built(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    if spec.type is None:
        return next(leaves)
    return NODES[spec.type][1]([_built(child, leaves) for child in spec.children_specs], spec.context)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves from left to right."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves from left to right, each after the keys that lead to it.

    Example:
        >>> pytree = torch.utils._pytree
        >>> [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path({"a": 1, "b": [2, (3,)]})]
        ["['a']", "['b'][0]", "['b'][1][0]"]
    """
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        return [((), tree)]
    return [((key, *path), leaf) for key, child in children_with_keys(kind, tree)
            for path, leaf in tree_leaves_with_path(child, is_leaf)]  # fmt: skip


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """What `tree_leaves_with_path` gives, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """As `tree_map`, with the path of each leaf as the first argument of `func`."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten([func(*one, *more) for one, *more in zip(found, *columns, strict=True)], spec)


def keystr(path: Iterable[Any]) -> str:
    """A path as one would write it behind the tree's name."""
    return "".join(map(str, path))


def key_get(tree: PyTree, path: Iterable[Any]) -> Any:
    """What stands at the end of a path."""
    for key in path:
        tree = key.get(tree)
    return tree


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure without the leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree with `func` of each leaf, and of what the other trees have in its place.

    Example:
        >>> torch.utils._pytree.tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
        [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return tree_unflatten(map(func, *columns), spec)


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call `func` as `tree_map` does, for what it does to the leaves; the tree itself comes back."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(kinds: Any, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    chosen = kinds if callable(kinds) and not isinstance(kinds, type) else lambda leaf: isinstance(leaf, kinds)
    return lambda leaf: func(leaf) if chosen(leaf) else leaf


def tree_map_only(kinds: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree with `func` of the leaves of some types, or of those for which a predicate holds."""
    return tree_map(_only(kinds, func), tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call `func` for the leaves of some types; the tree itself comes back."""
    return tree_map_(_only(kinds, func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether it holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether it holds for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kinds: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether it holds for all leaves of some types."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kinds))


def tree_any_only(kinds: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether it holds for some leaf of some types."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, kinds))


Context = Any


class _Leaf(type):
    """Makes `isinstance(spec, LeafSpec)` true of the structure of a leaf."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return TreeSpec(None)


class LeafSpec(metaclass=_Leaf):
    """`LeafSpec()` is the structure of a leaf."""


class NodeDef(typing.NamedTuple):
    """How objects of a class are taken apart, and put together again."""

    type: type
    flatten_fn: Callable[[Any], Any]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


class _Nodes(MutableMapping[Any, NodeDef]):
    """The classes that are nodes, as PyTorch shows them. Changes are those of the registry."""

    def __getitem__(self, kind: Any) -> NodeDef:
        return NodeDef(kind, *NODES[_ours(kind)])

    def __setitem__(self, kind: Any, node: Any) -> None:
        NODES[_ours(kind)] = node.flatten_fn, node.unflatten_fn

    def __delitem__(self, kind: Any) -> None:
        del NODES[_ours(kind)]

    def __iter__(self) -> Iterator[Any]:
        return (namedtuple if kind is NamedTuple else kind for kind in NODES)

    def __len__(self) -> int:
        return len(NODES)


def _ours(kind: Any) -> Any:
    """PyTorch has `collections.namedtuple`, a function, stand for all named tuples."""
    return NamedTuple if kind is namedtuple else kind


SUPPORTED_NODES = _Nodes()


def _get_node_type(tree: Any) -> Any:
    kind = kind_of(tree)
    return namedtuple if kind is NamedTuple else type(tree) if kind is None else kind


def _is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return kind_of(tree) is None or (is_leaf is not None and is_leaf(tree))


def _with_keys(kind: type) -> Callable[[Any], tuple[list[Any], Any]]:
    """The function that takes such a container apart, with the key of each child."""
    return lambda node: (list(children_with_keys(kind, node)), NODES[kind][0](node)[1])


_register_pytree_node = register_pytree_node
_list_flatten_with_keys, _tuple_flatten_with_keys = _with_keys(list), _with_keys(tuple)
_dict_flatten_with_keys, _odict_flatten_with_keys = _with_keys(dict), _with_keys(OrderedDict)
_namedtuple_flatten_with_keys = _with_keys(NamedTuple)
_list_flatten, _list_unflatten = NODES[list]
_tuple_flatten, _tuple_unflatten = NODES[tuple]
_dict_flatten, _dict_unflatten = NODES[dict]
_namedtuple_flatten, _namedtuple_unflatten = NODES[NamedTuple]
_odict_flatten, _odict_unflatten = NODES[OrderedDict]

__getattr__ = missing_from(__name__)
