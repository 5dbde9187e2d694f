"""Lists and dicts that can't be changed: what the arguments of a `Node` are made of."""

from __future__ import annotations

from typing import Any, NoReturn

from ..utils import _pytree

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. If you are attempting to modify the kwargs or args "
        "of a torch.fx.Node object, instead create a new copy of it and assign the copy to the node:\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list):  # type: ignore[type-arg]
    """A list that can't be changed, and so has a hash.

    Example:
        >>> torch.fx.immutable_collections.immutable_list([1, 2]) == [1, 2]
        True
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


class immutable_dict(dict):  # type: ignore[type-arg]
    """A dict that can't be changed, and so has a hash.

    Example:
        >>> torch.fx.immutable_collections.immutable_dict(dim=1)["dim"]
        1
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # for inspect.signature, which that of dict refuses
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self.items()),)


for _kind in (immutable_list, immutable_dict):
    for _name in ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort",
                  "update", "__delitem__", "__iadd__", "__imul__", "__ior__", "__setitem__"):  # fmt: skip
        if hasattr(_kind, _name):
            setattr(_kind, _name, _refuse)

_pytree.register_pytree_node(immutable_list, lambda one: (list(one), None), lambda values, _: immutable_list(values))
_pytree.register_pytree_node(
    immutable_dict,
    lambda one: (list(one.values()), list(one)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
)
