"""Trees of containers taken apart as a structure says that was seen before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..utils._pytree import TreeSpec

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

_FLATTEN: dict[type, Callable[[Any, TreeSpec], list[Any]]] = {
    dict: lambda tree, spec: [tree[key] for key in spec.context],
    list: lambda tree, spec: [tree[place] for place in range(len(spec.children_specs))],
    tuple: lambda tree, spec: [tree[place] for place in range(len(spec.children_specs))],
}
SUPPORTED_NODES = _FLATTEN


def register_pytree_flatten_spec(
    cls: type,
    flatten_fn_spec: Callable[[Any, TreeSpec], list[Any]],
    flatten_fn_exact_match_spec: Callable[[Any, TreeSpec], bool] | None = None,
) -> None:
    """Say how objects of the class are taken apart."""
    _FLATTEN[cls] = flatten_fn_spec


def _dict_flatten_spec(d: dict[Any, Any], spec: TreeSpec) -> list[Any]:
    return [d[key] for key in spec.context]


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a tree that has (at least) this structure.

    Example:
        >>> leaves, spec = torch.utils._pytree.tree_flatten({"a": 1, "b": [2, 3]})
        >>> torch.fx._pytree.tree_flatten_spec({"a": 4, "b": [5, 6], "c": 7}, spec)
        [4, 5, 6]
    """
    if spec.is_leaf():
        return [pytree]
    kind = tuple if isinstance(pytree, tuple) and spec.type not in _FLATTEN else spec.type
    if kind not in _FLATTEN:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec. If you have serialized your model, make sure that any "
            "custom pytrees have been registered before loading it."
        )
    children = _FLATTEN[kind](pytree, spec)
    return [
        leaf
        for child, part in zip(children, spec.children_specs, strict=True)
        for leaf in tree_flatten_spec(child, part)
    ]
