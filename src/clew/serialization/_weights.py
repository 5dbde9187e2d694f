"""Reads pickles that hold tensors, numbers, strings and plain containers, and refuses all others.

Python's own unpickler calls what a file names and lets it set attributes. This one knows a few names, makes what they
stand for by functions of ours, and fills only the lists, dicts and sets that it made itself.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar

import clew

__all__ = ["Maker", "WeightsUnpickler"]

_PLAIN = (str, bytes, int, float, complex, bool, type(None))


class Maker:
    """What a name in a file stands for: something that can be called, and nothing else."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make = make


class SafeMaker(Maker):
    """A class or function of which the program said that files may use it: its objects may be filled, too."""

    __slots__ = ()


def _plain_keys(keys: Any) -> None:
    """Tuples in tuples could take forever to hash."""
    for key in keys:
        parts = key if type(key) is tuple else (key,)
        if not all(type(part) in _PLAIN or isinstance(part, clew.Tensor | clew.dtype) for part in parts):
            raise pickle.UnpicklingError(f"a key of type {type(key).__name__}")


def _size(sizes: tuple[int, ...]) -> Any:
    if type(sizes) is not tuple or not all(type(size) is int for size in sizes):
        raise pickle.UnpicklingError(f"a size of {type(sizes).__name__}")
    return clew.Size(sizes)


def _device(*kind: Any) -> Any:
    return clew.device(*kind)


def _ordered_dict(items: Any = ()) -> OrderedDict[Any, Any]:
    pairs = [tuple(pair) for pair in items] if type(items) in (list, tuple) else list(items.items())
    _plain_keys(key for key, _ in pairs)
    return OrderedDict(pairs)


def _counter(counts: dict[Any, Any]) -> Counter[Any]:
    if type(counts) is not dict:
        raise pickle.UnpicklingError(f"counts of type {type(counts).__name__}")
    return Counter(counts)


def _set(items: Any = ()) -> set[Any]:
    if type(items) not in (list, tuple):
        raise pickle.UnpicklingError(f"a set of {type(items).__name__}")
    _plain_keys(items)
    return set(items)


def _complex(real: float, imaginary: float) -> complex:
    return complex(real, imaginary)


def _bytes(text: str, encoding: str) -> bytes:
    if type(text) is not str or encoding != "latin1":
        raise pickle.UnpicklingError("bytes that are not written as latin1")
    return text.encode("latin1")


MAKERS: dict[tuple[str, str], Maker] = {
    ("torch", "Size"): Maker(_size),
    ("torch", "device"): Maker(_device),
    ("collections", "OrderedDict"): Maker(_ordered_dict),
    ("collections", "Counter"): Maker(_counter),
    ("builtins", "set"): Maker(_set),
    ("__builtin__", "set"): Maker(_set),
    ("builtins", "complex"): Maker(_complex),
    ("__builtin__", "complex"): Maker(_complex),
    ("_codecs", "encode"): Maker(_bytes),
}

# What pickle writes for these, in any of its protocols; the type stubs leave out all that is below.
_base: Any = pickle._Unpickler
_UNCHANGED = (
    "PROTO FRAME BINPERSID NONE NEWFALSE NEWTRUE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT BINBYTES "
    "BINBYTES8 SHORT_BINBYTES UNICODE BINUNICODE BINUNICODE8 SHORT_BINUNICODE EMPTY_TUPLE EMPTY_LIST EMPTY_DICT "
    "EMPTY_SET TUPLE TUPLE1 TUPLE2 TUPLE3 GLOBAL STACK_GLOBAL POP GET BINGET LONG_BINGET PUT BINPUT LONG_BINPUT "
    "MEMOIZE MARK STOP"
)
_REPLACED = "NEWOBJ REDUCE BUILD APPENDS APPEND SETITEMS SETITEM ADDITEMS LIST DICT FROZENSET"


class WeightsUnpickler(_base):  # type: ignore[misc]
    """Python's unpickler with the opcodes that call or change anything replaced, or left out."""

    dispatch: ClassVar[dict[int, Any]] = {
        getattr(pickle, name)[0]: _base.dispatch[getattr(pickle, name)[0]] for name in _UNCHANGED.split()
    }

    def safe_classes(self) -> set[type]:
        """The classes whose objects may be given attributes."""
        return set()

    def load(self) -> Any:
        """What the pickle holds."""
        try:
            made = super().load()
        except KeyError as error:
            raise pickle.UnpicklingError(f"an opcode or a number of something that is not there: {error}") from error
        if isinstance(made, Maker):
            raise pickle.UnpicklingError("a function or a type")
        return made

    def load_reduce(self) -> None:
        """Make what a name stands for."""
        args = self.stack.pop()
        maker = self.stack.pop()
        if not isinstance(maker, Maker) or type(args) is not tuple:
            raise pickle.UnpicklingError(f"a call of a {type(maker).__name__}")
        self.stack.append(maker.make(*args))

    def load_newobj(self) -> None:
        """Make an object of a class that the program called safe."""
        args = self.stack.pop()
        maker = self.stack.pop()
        if type(maker) is not SafeMaker or not isinstance(maker.make, type) or type(args) is not tuple:
            raise pickle.UnpicklingError(f"an object of a {type(maker).__name__}")
        self.stack.append(maker.make.__new__(maker.make, *args))

    def load_build(self) -> None:
        """The metadata of a `state_dict` is all that anything may have besides its items, but what is safe."""
        state = self.stack.pop()
        made = self.stack[-1]
        if type(made) in self.safe_classes():
            self.stack.append(state)
            _base.dispatch[pickle.BUILD[0]](self)
            return
        metadata = type(state) is dict and state.keys() <= {"_metadata"}
        if type(made) is not OrderedDict or not metadata:
            raise pickle.UnpicklingError(f"attributes for a {type(made).__name__}")
        vars(made).update(state)

    def load_appends(self) -> None:
        """Add to a list."""
        items = self.pop_mark()
        self._filled(list).extend(items)

    def load_append(self) -> None:
        """Add one item to a list."""
        item = self.stack.pop()
        self._filled(list).append(item)

    def load_setitems(self) -> None:
        """Add to a dict."""
        items = self.pop_mark()
        _plain_keys(items[::2])
        self._filled(dict, OrderedDict, Counter).update(zip(items[::2], items[1::2], strict=True))

    def load_setitem(self) -> None:
        """Add one item to a dict."""
        value = self.stack.pop()
        key = self.stack.pop()
        _plain_keys([key])
        self._filled(dict, OrderedDict, Counter)[key] = value

    def load_additems(self) -> None:
        """Add to a set."""
        items = self.pop_mark()
        _plain_keys(items)
        self._filled(set).update(items)

    def load_list(self) -> None:
        """A list of what lies above the mark."""
        self.append(self.pop_mark())

    def load_dict(self) -> None:
        """A dict of what lies above the mark."""
        items = self.pop_mark()
        _plain_keys(items[::2])
        self.append(dict(zip(items[::2], items[1::2], strict=True)))

    def load_frozenset(self) -> None:
        """A frozenset of what lies above the mark."""
        items = self.pop_mark()
        _plain_keys(items)
        self.append(frozenset(items))

    def _filled(self, *types: type) -> Any:
        """The container on top of the stack."""
        if type(self.stack[-1]) not in types:
            raise pickle.UnpicklingError(f"items for a {type(self.stack[-1]).__name__}")
        return self.stack[-1]

    for _name in _REPLACED.split():
        dispatch[getattr(pickle, _name)[0]] = locals()[f"load_{_name.lower()}"]
    del _name
