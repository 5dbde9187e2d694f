"""Modules that hold parameters (or, as PyTorch's do, any other values)."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clew import Tensor

from ..parameter import Parameter
from .module import Module

__all__ = [
    "ParameterDict",
    "ParameterList",
]


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(key: object, value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    return f"  ({key}): {kind} containing: [{value.dtype} of size {size}]"


class ParameterList(Module):
    """A list of parameters that are registered. Tensors put in become parameters.

    Raises:
        TypeError: what is not iterable.
        IndexError: an index is out of range.

    Example:
        >>> weights = torch.nn.ParameterList([torch.zeros(2), torch.zeros(3)])
        >>> [tuple(weight.shape) for weight in weights]
        [(2,), (3,)]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def _name_at(self, index: int) -> str:
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, self._name_at(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name_at(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self._size))

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add `value` at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add `values` at the end."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(f"ParameterList.extend: expected an iterable of parameters, got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """A line for each element."""
        return "\n".join(_describe(index, value) for index, value in enumerate(self))


class ParameterDict(Module):
    """A dict of names to parameters that are registered. Tensors put in become parameters.

    Raises:
        TypeError: a key is no string.
        KeyError: there is no such name.

    Example:
        >>> scales = torch.nn.ParameterDict({"left": torch.zeros(2)})
        >>> scales["right"] = torch.ones(2)
        >>> list(scales.keys())
        ['left', 'right']
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update(parameters or {})

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: expected a string as key, got {type(key).__name__}")
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """The values."""
        return [self[key] for key in self._keys]

    def items(self) -> Iterable[tuple[str, Any]]:
        """`(name, value)` pairs."""
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `key`, or `default`."""
        return self[key] if key in self._keys else default

    def pop(self, key: str) -> Any:
        """Take the value of `key` out and return it."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Take everything out."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add or replace values, from a mapping or from pairs."""
        for key, value in dict(parameters).items():
            self[key] = value

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of `key`, which is `default` from now on if there was none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Take the last pair out and return it."""
        key = next(reversed(self._keys), "")
        return key, self.pop(key)

    def copy(self) -> ParameterDict:
        """Another one with the same parameters."""
        return ParameterDict(dict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another one, with `default` for each of the keys."""
        return ParameterDict((key, default) for key in keys)

    def extra_repr(self) -> str:
        """A line for each value."""
        return "\n".join(_describe(key, value) for key, value in self.items())
