"""How a module keeps what is assigned to it.

Parameters, buffers and child modules are in three dicts of the instance: `_parameters`, `_buffers`, `_modules`, and
`Module.__getattr__` finds them there. That alone would make each read of a parameter several times as slow as that of a
plain attribute. So a `Table`, which is a dict, also writes what it has into the instance's `__dict__`, where a plain
look-up finds it (Note [Look-up of attributes]).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from clew import Tensor, _core

from ..parameter import Buffer, Parameter

if TYPE_CHECKING:
    from .module import Module

_V = TypeVar("_V")
TABLES = ("_parameters", "_buffers", "_modules")
_missing: Any = object()


# Note [Look-up of attributes]
# A class with a `__getattr__` has another slot for look-ups, which CPython 3.11 does not specialize: each look-up takes
# twice as long, those that never come to `__getattr__` as well. So a class that has the `__getattr__` of `Module` gets
# the plain slot back, as if it had none. Nothing is lost: all that this function could find is in `__dict__`, too.
# A class that overrides `__getattr__` wants to be asked. It has the slot that CPython gave it, and its instances have
# ordinary dicts as tables, and nothing of them in `__dict__`.


class Table(dict[str, _V]):
    """The parameters, buffers or children of a module: a dict that is mirrored in the module's `__dict__`.

    One that is made by hand, or whose module is gone, is a dict and no more.
    """

    __slots__ = ("_key", "_owner")
    _owner: Callable[[], Attributes | None]  # a weak reference
    _key: str  # what it is in the module

    def _mirror(self) -> dict[str, Any] | None:
        """The `__dict__` of the module."""
        owner = self._owner() if hasattr(self, "_owner") else None
        return None if owner is None else owner.__dict__

    def __setitem__(self, name: str, value: _V) -> None:
        dict.__setitem__(self, name, value)
        mirror = self._mirror()
        if mirror is not None:
            mirror[name] = value
            if mirror["_kinds"].get(name) != self._key:
                mirror["_kinds"][name] = self._key

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def pop(self, name: str, *default: Any) -> Any:
        """As of a dict, likewise the other methods."""
        value = dict.pop(self, name, _missing)
        if value is _missing:
            if default:
                return default[0]
            raise KeyError(name)
        mirror = self._mirror()
        if mirror is not None:
            if mirror.get(name, _missing) is value:
                del mirror[name]
            if mirror["_kinds"].get(name) == self._key:
                del mirror["_kinds"][name]
        return value

    def popitem(self) -> tuple[str, _V]:
        name = next(reversed(self), _missing)
        return (name, self.pop(name)) if name is not _missing else dict.popitem(self)

    def clear(self) -> None:
        for name in list(self):
            self.pop(name)

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, other: Any) -> Table[_V]:  # type: ignore[override,misc]
        self.update(other)
        return self

    def copy(self) -> dict[str, _V]:
        """A plain dict with the same items."""
        return dict(self)

    __copy__ = copy

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # what is kept elsewhere, or copied, is no part of the module


def _new_table(key: str, owner: Any, items: Mapping[str, Any] = MappingProxyType({})) -> Table[Any]:
    table: Table[Any] = Table(items)
    table._key, table._owner = key, owner
    return table


def _table(key: str) -> Any:
    """The attribute `key` of a module, one of the three tables. What is assigned to it becomes a table."""

    def get(self: Attributes) -> dict[str, Any]:
        table = self.__dict__.get(key)
        if table.__class__ is not Table or table._mirror() is not self.__dict__:
            self._own_tables()
            table = self.__dict__[key]
        return table

    def put(self: Attributes, items: Mapping[str, Any]) -> None:
        self._forget_mirrored(key)
        self.__dict__[key] = items
        self._own_tables()

    def delete(self: Attributes) -> None:
        self._forget_mirrored(key)
        del self.__dict__[key]

    return property(get, put, delete)


class Attributes:
    """The part of a module that registers parameters, buffers and children."""

    training: bool
    _parameters: dict[str, Parameter | None] = _table("_parameters")
    _buffers: dict[str, Tensor | None] = _table("_buffers")
    if TYPE_CHECKING:
        _modules: dict[str, Module | None]
    else:  # without an annotation, since `get_type_hints` would look for Module here
        _modules = _table("_modules")
    _non_persistent_buffers_set: set[str]

    def __init__(self) -> None:
        parameters: Any = {}
        buffers: Any = {}
        modules: Any = {}
        if type(self).__getattr__ is Attributes.__getattr__:
            parameters, buffers, modules = Table(), Table(), Table()
            parameters._owner = buffers._owner = modules._owner = ref(self)
            parameters._key, buffers._key, modules._key = TABLES
        self.__dict__.update(  # at once, since CPython specializes look-ups in a dict that was made so
            training=True,
            _parameters=parameters,
            _buffers=buffers,
            _modules=modules,
            _kinds={},
            _non_persistent_buffers_set=set(),
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__getattr__ is Attributes.__getattr__ and cls.__getattribute__ is object.__getattribute__:
            _core.look_up_plainly(cls)

    def __getattr__(self, name: str) -> Any:
        kept = self.__dict__
        for key in TABLES:
            if name in kept.get(key, ()):
                return kept[key][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _own_tables(self) -> None:
        """Make the tables this module's own: others come with a copied `__dict__`, or by hand."""
        kept = self.__dict__
        mirrored = type(self).__getattr__ is Attributes.__getattr__
        kept["_kinds"] = kinds = {}
        for key in TABLES:
            if key not in kept:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'")
            items: dict[str, Any] = kept[key]
            is_table = items.__class__ is Table
            if mirrored and not (is_table and items._mirror() is kept):  # type: ignore[attr-defined]
                items = kept[key] = _new_table(key, ref(self), items)
                kept.update(items)
            elif is_table and not mirrored:
                self._forget_mirrored(key)
                kept[key] = dict(items)
            kinds.update(dict.fromkeys(items, key))

    def _forget_mirrored(self, key: str) -> None:
        kept = self.__dict__
        for name, value in kept.get(key, {}).items():
            if kept.get(name, _missing) is value:
                del kept[name]

    def _kind(self, name: str) -> str | None:
        """The table that has the name. The kinds tell it without a look at what the table holds for it."""
        kept = self.__dict__
        if type(self).__getattr__ is Attributes.__getattr__:
            kinds = kept.get("_kinds")
            return None if kinds is None else kinds.get(name)
        return next((key for key in TABLES if name in kept.get(key, ())), None)

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
        self._check_name("parameter", name, "_parameters")
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
        self._check_name("buffer", name, "_buffers")
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
        self._check_name("module", name, "_modules")
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
            self._make_room(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Attributes):
            if "_modules" not in kept:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._make_room(name, "_modules")
            self._modules[name] = value  # type: ignore[assignment]
        elif isinstance(value, Buffer):
            self._make_room(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        else:
            kind = self._kind(name)
            if kind is None:
                object.__setattr__(self, name, value)
                if name == "__class__" and kept.get("_modules") is not None:
                    self._own_tables()
                return
            expected, accepted = _KINDS[kind]
            if value is not None and not (kind == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as {expected} '{name}' ({accepted} or None expected)"
                )
            self._table_of(kind)[name] = value

    def __delattr__(self, name: str) -> None:
        kind = self._kind(name)
        if kind is None:
            object.__delattr__(self, name)
        else:
            del self._table_of(kind)[name]
            self._non_persistent_buffers_set.discard(name)

    def _table_of(self, kind: str) -> dict[str, Any]:
        if kind == "_buffers":
            return self._buffers
        return self._parameters if kind == "_parameters" else self._modules

    def _make_room(self, name: str, own: str) -> None:
        """Forget what `name` stood for, unless that was of the kind `own` (then its place in the order stays)."""
        kept = self.__dict__
        if kept.get(own) is not None and self._kind(name) != own and (name in kept or self._kind(name)):
            delattr(self, name)


# What is to be said of a wrong value for each.
_KINDS = {
    "_parameters": ("parameter", "clew.nn.Parameter"),
    "_modules": ("child module", "clew.nn.Module"),
    "_buffers": ("buffer", "clew.nn.Buffer, clew.Tensor"),
}
