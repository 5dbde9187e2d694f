"""How a module keeps what is assigned to it.

Parameters, buffers and child modules lie in the instance's own `__dict__`, like any other attribute: reading one costs
what a plain attribute costs, and there is one place where a value is kept. What makes them special is that their names
are also written down, in order, in one table for each kind. `module._parameters`, `_buffers` and `_modules` are live
mappings over these tables.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, MutableMapping, ValuesView
from typing import TYPE_CHECKING, Any, TypeVar

from clew import Tensor

from ..parameter import Buffer, Parameter

if TYPE_CHECKING:
    from .module import Module

_V = TypeVar("_V")
Names = dict[str, None]  # an ordered set


class _Keys(KeysView[str]):
    """As of a dict, whose order can be reversed, too; likewise the other two."""

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))


class _Items(ItemsView[str, _V]):
    def __reversed__(self) -> Iterator[tuple[str, _V]]:
        return reversed(list(self))


class _Values(ValuesView[_V]):
    def __reversed__(self) -> Iterator[_V]:
        return reversed(list(self))


class Registered(MutableMapping[str, _V]):
    """The registered attributes of one kind, as a mapping that writes through to the module."""

    __slots__ = ("_names", "_values")

    def __init__(self, values: dict[str, Any], names: Names) -> None:
        self._values, self._names = values, names

    def __getitem__(self, name: str) -> _V:
        if name not in self._names:
            raise KeyError(name)
        value: _V = self._values[name]
        return value

    def __setitem__(self, name: str, value: _V) -> None:
        self._names[name] = None
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)

    def keys(self) -> KeysView[str]:
        return _Keys(self)

    def items(self) -> ItemsView[str, _V]:
        return _Items(self)

    def values(self) -> ValuesView[_V]:
        return _Values(self)

    def __repr__(self) -> str:
        return repr(dict(self))

    def copy(self) -> dict[str, _V]:
        """A plain dict with the same items."""
        return dict(self)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # what is kept elsewhere, or copied, is no part of the module

    def replace(self, items: Mapping[str, _V]) -> None:
        """Have these items and no others."""
        items = dict(items)
        self.clear()
        self.update(items)


class Attributes:
    """The part of a module that registers parameters, buffers and children."""

    training: bool
    _parameter_names: Names
    _buffer_names: Names
    _module_names: Names
    _non_persistent_buffers_set: set[str]

    def __init__(self) -> None:
        self.__dict__.update(
            training=True,
            _parameter_names={},
            _buffer_names={},
            _module_names={},
            _non_persistent_buffers_set=set(),
        )

    @property
    def _parameters(self) -> Registered[Parameter | None]:
        return Registered(self.__dict__, self._parameter_names)

    @_parameters.setter
    def _parameters(self, items: Mapping[str, Parameter | None]) -> None:
        self._parameters.replace(items)

    @property
    def _buffers(self) -> Registered[Tensor | None]:
        return Registered(self.__dict__, self._buffer_names)

    @_buffers.setter
    def _buffers(self, items: Mapping[str, Tensor | None]) -> None:
        self._buffers.replace(items)

    @property
    def _modules(self) -> Registered[Module | None]:
        return Registered(self.__dict__, self._module_names)

    @_modules.setter
    def _modules(self, items: Mapping[str, Module | None]) -> None:
        self._modules.replace(items)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # attributes are registered at run time

    # Registration -----------------------------------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make `param` the parameter `name`. `None` reserves the name (as `Linear(..., bias=False)` does).

        Raises:
            AttributeError: `Module.__init__()` has not run.
            KeyError: the name is empty, has a dot, or is an attribute already.
            TypeError: `param` is no `Parameter`.
            ValueError: `param` has a history.

        Example:
            >>> module = torch.nn.Module()
            >>> module.register_parameter("scale", torch.nn.Parameter(torch.ones(1)))
            >>> [name for name, _ in module.named_parameters()]
            ['scale']
        """
        self._check_name("parameter", name, "_parameter_names")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(clew.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make `tensor` the buffer `name`: it moves with the module and, if `persistent`, is part of `state_dict()`.

        Example:
            >>> module = torch.nn.Module()
            >>> module.register_buffer("count", torch.zeros(()), persistent=False)
            >>> list(module.buffers()), list(module.state_dict())
            ([tensor(0.)], [])
        """
        self._check_name("buffer", name, "_buffer_names")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (clew Tensor or None required)"
            )
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Make `module` the child `name`.

        Example:
            >>> module = torch.nn.Module()
            >>> module.add_module("inner", torch.nn.ReLU())
            >>> module.inner
            ReLU()
        """
        if module is not None and not isinstance(module, Attributes):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name("module", name, "_module_names")
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, kind: str, name: str, names: str) -> None:
        if names not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[names] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # Assignment -------------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        kept = self.__dict__
        if isinstance(value, Parameter):
            self._make_room(name, "_parameter_names")
            self.register_parameter(name, value)
        elif isinstance(value, Attributes):
            self._make_room(name, "_module_names")
            if "_module_names" not in kept:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._modules[name] = value  # type: ignore[assignment]
        elif isinstance(value, Buffer):
            self._make_room(name, "_buffer_names")
            self.register_buffer(name, value, value.persistent)
        elif name in kept.get("_parameter_names", ()):
            if value is not None:
                self._refuse(name, value, "parameter", "clew.nn.Parameter")
            kept[name] = None
        elif name in kept.get("_module_names", ()):
            if value is not None:
                self._refuse(name, value, "child module", "clew.nn.Module")
            kept[name] = None
        elif name in kept.get("_buffer_names", ()):
            if value is not None and not isinstance(value, Tensor):
                self._refuse(name, value, "buffer", "clew.nn.Buffer, clew.Tensor")
            kept[name] = value
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        for table in ("_parameter_names", "_buffer_names", "_module_names"):
            self.__dict__.get(table, {}).pop(name, None)
        self.__dict__.get("_non_persistent_buffers_set", set()).discard(name)

    def _make_room(self, name: str, own: str) -> None:
        """Forget what `name` stood for, unless that was of the kind `own` (then its place in the order stays)."""
        kept = self.__dict__
        if own in kept and name in kept and name not in kept[own]:
            delattr(self, name)

    @staticmethod
    def _refuse(name: str, value: object, kind: str, expected: str) -> None:
        raise TypeError(f"cannot assign '{type(value).__name__}' as {kind} '{name}' ({expected} or None expected)")
