"""Modules that hold modules."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar, overload

from .module import Module

__all__ = [
    "ModuleDict",
    "ModuleList",
    "Sequential",
]

_S = TypeVar("_S", bound="_ModuleSequence")


class _ModuleSequence(Module):
    """Child modules named "0", "1", ..., as a list."""

    def _name_at(self, index: int) -> str:
        size, index = len(self), operator.index(index)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return next(itertools.islice(self._modules, index % size, None))

    def _replace_all(self, modules: Iterable[Module]) -> None:
        modules = list(modules)
        for name in list(self._modules):
            delattr(self, name)
        for index, module in enumerate(modules):
            self.add_module(str(index), module)

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self: _S, index: slice) -> _S: ...
    def __getitem__(self: _S, index: int | slice) -> Module | _S:
        if not isinstance(index, slice):
            return self._modules[self._name_at(index)]  # type: ignore[return-value]
        part = type(self)()
        for name, module in list(self._modules.items())[index]:
            # A sequence that was given names keeps them.
            part.add_module(name if isinstance(self, Sequential) else str(len(part)), module)
        return part

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        kept_by_position = names == [str(position) for position in range(len(names))]
        for name in names[index] if isinstance(index, slice) else [self._name_at(index)]:
            delattr(self, name)
        if kept_by_position:
            self._replace_all(self)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(tuple(self._modules.values()))  # type: ignore[arg-type]

    def append(self: _S, module: Module) -> _S:
        """Add `module` at the end."""
        # A slice of a Sequential keeps its names, so the next number may be taken.
        names = map(str, itertools.count(len(self)))
        self.add_module(next(name for name in names if name not in self._modules), module)
        return self

    def extend(self: _S, modules: Iterable[Module]) -> _S:
        """Add `modules` at the end."""
        for module in list(modules):
            self.append(module)
        return self

    __iadd__ = extend

    def insert(self: _S, index: int, module: Module) -> _S:
        """Put `module` before position `index`."""
        if not -len(self) <= index <= len(self):
            raise IndexError(f"index {index} is out of range")
        modules = list(self)
        modules.insert(index, module)
        self._replace_all(modules)
        return self

    def pop(self, key: int = -1) -> Module:
        """Take the module at the place `key` out and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_ModuleSequence):
    """Modules applied one after the other: each gets what the one before returned.

    Args:
        modules: the modules, or one `OrderedDict` of names to modules.

    It is a list of its modules, too: indices, slices, `append`, `insert`, `+` and `*` work.

    Example:
        >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        Sequential(
          (0): Linear(in_features=2, out_features=3, bias=True)
          (1): ReLU()
        )
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = len(modules) == 1 and isinstance(modules[0], OrderedDict)
        for name, module in modules[0].items() if named else enumerate(modules):
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        """The output of the last module."""
        for module in self.__dict__["_modules"].values():
            input = module(input)
        return input

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *other)

    def __mul__(self, times: int) -> Sequential:
        if times <= 0:
            raise ValueError(f"Sequential: expected to be repeated at least once, got {times}")
        return Sequential(*(list(self) * times))

    __rmul__ = __mul__


class ModuleList(_ModuleSequence):
    """A list of modules that are registered: their parameters are parameters of the module that has the list.

    Example:
        >>> torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """As any module's, with equal neighbours on one line."""
        lines, start = [], 0
        for text, same in itertools.groupby(repr(module) for module in self):
            count = len(list(same))
            where = f"({start})" if count == 1 else f"({start}-{start + count - 1})"
            times = "" if count == 1 else f"{count} x "
            lines.append(f"  {where}: {times}{text}".replace("\n", "\n  ") + "\n")
            start += count
        body = "".join(lines)
        return f"{self._get_name()}(\n{body})" if body else f"{self._get_name()}()"


class ModuleDict(Module):
    """A dict of names to modules that are registered, in the order of insertion.

    Raises:
        TypeError: neither a mapping nor pairs of name and module.

    Example:
        >>> heads = torch.nn.ModuleDict({"class": torch.nn.Linear(4, 10), "box": torch.nn.Linear(4, 4)})
        >>> list(heads)
        ['class', 'box']
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, key: str) -> Module:
        module = self._modules[key]
        assert module is not None
        return module

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Any]:
        """`(name, module)` pairs."""
        return self._modules.items()

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take the module `key` out and return it."""
        module = self[key]
        del self[key]
        return module

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace modules, from a mapping or from pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleDict.update: expected a mapping or (name, module) pairs, got {type(modules).__name__}"
            )
        for key, module in OrderedDict(modules).items():
            self[key] = module
