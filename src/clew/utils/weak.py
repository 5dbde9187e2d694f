"""`torch.utils.weak`: dictionaries with objects as keys, which they don't keep alive and compare by identity."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any
from weakref import ref

__all__ = ["WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary", "WeakTensorRefKey"]


class WeakIdRef(ref):  # type: ignore[type-arg]
    """A weak reference that equals another one of the same object, and no other."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, its = self(), other() if isinstance(other, ref) else None
        return self is other if mine is None or its is None else mine is its


class WeakTensorRefKey(WeakIdRef):
    """A `WeakIdRef` of a tensor."""

    __slots__ = ()


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are compared by identity. An entry goes when its key does."""

    ref_type: type[WeakIdRef] = WeakIdRef

    def __init__(self, dict: Any = None, ref_type: type[WeakIdRef] = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: Any = {}
        self._forget = self.data.pop
        if dict is not None:
            self.update(dict)

    def _reference(self, key: Any) -> WeakIdRef:
        forget = self._forget
        return self.ref_type(key, lambda reference: forget(reference, None))

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self._reference(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        return self.ref_type(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def keyrefs(self) -> list[WeakIdRef]:
        """The references to the keys."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same entries."""
        return type(self)(self)


class WeakTensorKeyDictionary(WeakIdKeyDictionary):
    """A `WeakIdKeyDictionary` whose keys are tensors.

    Example:
        >>> names = torch.utils.weak.WeakTensorKeyDictionary()
        >>> x = torch.ones(2)
        >>> names[x] = "x"
        >>> names[x], len(names)
        ('x', 1)
        >>> del x
        >>> len(names)
        0
    """

    def __init__(self, dict: Any = None, ref_type: type[WeakIdRef] = WeakTensorRefKey) -> None:
        super().__init__(dict, ref_type)
