"""What an object holds, and what the user would write to get there: one step of the search in ``names.py``."""

from __future__ import annotations

import functools
import gc
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from ... import _core
from .frames import variables

# Objects that hold no tensor, or belong to Python rather than to the user.
SKIPPED = (
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    bool,
    type(None),
    range,
    types.ModuleType,
    types.CodeType,
    types.BuiltinFunctionType,
    type(...),
)
_PLAIN = {str, bytes, int, float, complex, bool, type(None)}
_MOST_KEY_TEXT = 40
_TABLES = ("_parameters", "_buffers", "_modules")
# What holds others natively, so that only the collector can tell.
_OPAQUE = (functools._lru_cache_wrapper, types.MappingProxyType, types.CellType, enumerate, zip, map, filter, reversed)
_EMPTY: tuple[Any, ...] = ([], (), {}, {}.values(), {}.items(), set(), deque())
_ITERATORS = tuple({type(iter(empty)) for empty in _EMPTY})

Child = tuple[str, object]


def is_module(value: object) -> bool:
    """Whether it has parameters by name, as an ``nn.Module`` does."""
    return hasattr(type(value), "named_parameters")


def is_parameter(value: object) -> bool:
    """Whether it is made to be in a module."""
    return isinstance(value, _core.Tensor) and any(kind.__name__ == "Parameter" for kind in type(value).__mro__)


def is_optimizer(value: object) -> bool:
    """Whether it keeps parameters in groups and a state for each, as ``optim.Optimizer`` does."""
    return {"param_groups", "state"} <= _own(value).keys()


def _own(value: object) -> dict[str, object]:
    try:
        return vars(value)
    except TypeError:
        return {}


def children(path: str, value: object, is_wanted: Callable[[object], bool]) -> Iterator[Child]:
    """The objects that ``value`` holds, with their paths. Plain ones that nobody wants are left out."""

    def matters(item: object) -> bool:
        return type(item) not in _PLAIN or is_wanted(item)

    if isinstance(value, _core.Tensor):
        yield from _of_tensor(path, value)
        return
    if isinstance(value, dict):
        yield from ((f"{path}[{_key(key)}]", item) for key, item in list(value.items()) if matters(item))
        yield from ((f"{path}: a key", key) for key in list(value) if isinstance(key, _core.Tensor))
    elif isinstance(value, (list, tuple, deque)):
        yield from ((f"{path}[{number}]", item) for number, item in enumerate(list(value)) if matters(item))
    elif isinstance(value, (set, frozenset)):
        yield from ((f"{path}{{...}}", item) for item in list(value) if matters(item))
    elif isinstance(value, (*_OPAQUE, *_ITERATORS)):
        yield from ((f"{path}{{...}}", item) for item in gc.get_referents(value) if matters(item))
    else:
        yield from _of_code(path, value)
    if isinstance(value, type) and value.__module__ != "__main__":
        return
    if isinstance(value, (types.FrameType, types.TracebackType)):
        return
    yield from _attributes(path, value)


def _key(key: object) -> str:
    """A key as the user writes it, unless that would be long: the state of an optimizer has parameters as keys."""
    if isinstance(key, _core.Tensor):
        return f"{type(key).__name__} of shape {tuple(key.shape)}"
    if type(key) in _PLAIN or isinstance(key, (tuple, frozenset)):
        text = repr(key)
        return text if len(text) <= _MOST_KEY_TEXT else text[: _MOST_KEY_TEXT - 1] + "…"
    return type(key).__name__


def _of_tensor(path: str, tensor: Any) -> Iterator[Child]:
    attributes, gradient, base = _core.tensor_holds(tensor)
    if gradient is not None:
        yield f"{path}.grad", gradient
    if attributes:
        yield from ((f"{path}.{name}", item) for name, item in list(attributes.items()))
    if base is not None:
        yield f"{path}._base", base


def _of_code(path: str, value: object) -> Iterator[Child]:
    """Functions, methods, generators, and the frames that an exception's traceback keeps."""
    if isinstance(value, types.FunctionType):
        yield from _of_function(path, value)
    elif isinstance(value, types.MethodType):
        yield f"{path}.__self__", value.__self__
    elif isinstance(value, functools.partial):
        yield f"{path}.func", value.func
        yield f"{path}.args", value.args
        yield f"{path}.keywords", value.keywords
    elif isinstance(value, types.GeneratorType):
        yield from _of_frame(path, value.gi_frame)
    elif isinstance(value, types.CoroutineType):
        yield from _of_frame(path, value.cr_frame)
    elif isinstance(value, types.AsyncGeneratorType):
        yield from _of_frame(path, value.ag_frame)
    elif isinstance(value, BaseException):
        yield f"{path}.__cause__", value.__cause__
        yield f"{path}.__context__", value.__context__
        trace = value.__traceback__
        while trace is not None:
            yield from _of_frame(f"{path}.__traceback__", trace.tb_frame)
            trace = trace.tb_next
    elif isinstance(value, types.FrameType):
        yield from _of_frame(path, value)
    elif isinstance(value, types.TracebackType):
        yield from _of_frame(path, value.tb_frame)
        yield f"{path}.tb_next", value.tb_next
    elif isinstance(base := getattr(value, "base", None), memoryview):  # an array that looks at a tensor's memory
        yield f"{path}.base", base.obj


def _of_frame(path: str, frame: types.FrameType | None) -> Iterator[Child]:
    if frame is not None:
        yield from ((f"{path}:{name}", item) for name, item in variables(frame).items())


def _of_function(path: str, function: types.FunctionType) -> Iterator[Child]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f"{path}:{name}", cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    yield from ((f"{path}:{number}", item) for number, item in enumerate(function.__defaults__ or ()))
    yield from ((f"{path}:{name}", item) for name, item in (function.__kwdefaults__ or {}).items())


def _attributes(path: str, value: object) -> Iterator[Child]:
    own = _own(value)
    # What a module's tables hold is among its attributes, too.
    tables = _TABLES if is_module(value) else ()
    for name, item in list(own.items()):
        if name in tables and isinstance(item, dict):
            yield from ((f"{path}.{key}", each) for key, each in list(item.items()) if own.get(key) is not each)
        elif not (name.startswith("__") and name.endswith("__")):
            yield f"{path}.{name}", item
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if name in ("__dict__", "__weakref__"):
                continue
            try:
                yield f"{path}.{name}", object.__getattribute__(value, name)
            except AttributeError:  # mangled, or not set
                continue
