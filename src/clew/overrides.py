"""For classes that act like tensors: who takes part in an operation, asking them, and modes that see every call.

Note [Which functions]
A function that is written in C or published as overridable asks the classes of its arguments; the others are in
`get_ignored_functions`. Both are found in the namespaces, so no list is kept of the first.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeVar

from . import _core
from ._core import Tensor
from ._core import has_torch_function as has_torch_function_variadic
from ._subclass import DisableTorchFunctionSubclass
from ._unsupported import missing_from as _missing_from

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

_F = TypeVar("_F", bound=Callable[..., Any])

has_torch_function_unary = has_torch_function_variadic

# Those of them that make tensors, or answer what is no tensor: by name, as in PyTorch.
_MAKE_TENSORS = """
    arange as_strided as_tensor asarray autocast bartlett_window blackman_window broadcast_shapes can_cast empty
    empty_permuted empty_strided eye fill fork from_file from_numpy frombuffer full hamming_window hann_window
    kaiser_window linspace logspace normal ones promote_types rand rand_like randint randint_like randn randn_like
    randperm range result_type scalar_tensor sparse_coo_tensor tensor tril_indices triu_indices vander wait zeros
    nn.functional.hardsigmoid nn.functional.hardswish nn.functional.sigmoid nn.functional.tanh nn.functional.upsample
    nn.functional.upsample_bilinear nn.functional.upsample_nearest fft.fftfreq fft.rfftfreq
    Tensor.__delitem__ Tensor.__dir__ Tensor.__hash__ Tensor.__iter__ Tensor._make_subclass Tensor.as_subclass
    Tensor.new Tensor.new_empty Tensor.new_empty_strided Tensor.new_full Tensor.new_ones Tensor.new_tensor
    Tensor.new_zeros Tensor.stride Tensor.to_padded_tensor Tensor.unflatten
"""
_IGNORED = frozenset(_MAKE_TENSORS.split())
_NAMESPACES = ("Tensor", "", "functional", "nn.functional", "nn.init", "linalg", "fft", "special")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of any of these overrides operations by `__torch_function__`, or a mode is to be asked.

    Example:
        >>> class Named(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return super().__torch_function__(func, types, args, kwargs or {})
        >>> torch.overrides.has_torch_function([torch.ones(1), Named([1.0])])
        True
    """
    return has_torch_function_variadic(*relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What modes and the classes of `relevant_args` answer for `public_api(*args, **kwargs)`.

    Args:
        public_api: the function that was called, as users know it.
        relevant_args: its arguments whose classes may override it. A subclass is asked before its bases.

    Raises:
        TypeError: all of them returned NotImplemented.

    Example:
        >>> class Named(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return func.__name__
        >>> torch.overrides.handle_torch_function(torch.exp, [Named([1.0])], Named([1.0]))
        'exp'
    """
    return _core.ask_classes(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[_F], _F]:
    """Make a function ask the classes of its arguments first.

    Args:
        dispatcher: gives, from the function's arguments, those whose classes may override it.

    Example:
        >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
        ... def double(x):
        ...     return x * 2
        >>> double(torch.ones(1))
        tensor([2.])
    """

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = list(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether the object is a tensor, or has `__torch_function__`.

    Example:
        >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1.0)
        (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


class TorchFunctionMode:
    """A context in which every call of a function or method goes to `self.__torch_function__`, of plain tensors, too.

    Derive from it and define `__torch_function__(self, func, types, args=(), kwargs=None)`. While that runs, the mode
    is off: its own calls go to the modes around it. One that returns NotImplemented leaves the call to the classes of
    the arguments.

    Example:
        >>> class Count(torch.overrides.TorchFunctionMode):
        ...     calls = 0
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         self.calls += 1
        ...         return func(*args, **(kwargs or {}))
        >>> with Count() as count:
        ...     y = torch.ones(2).exp() + 1
        >>> count.calls
        3
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: define __torch_function__")

    def __enter__(self) -> Any:
        _core._push_function_mode(self)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _core._pop_function_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """The older spelling of `Mode(...)`."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that does nothing but run what is called.

    Example:
        >>> with torch.overrides.BaseTorchFunctionMode():
        ...     torch.ones(2) + 1
        tensor([2., 2.])
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which neither classes nor modes are asked."""

    __slots__ = ("_modes",)

    def __enter__(self) -> None:
        super().__enter__()
        self._modes = _core.set_mode("function_mode", False)

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        _core.set_mode("function_mode", self._modes)


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context for operations inside `__torch_dispatch__`. clew calls none, so this is always outside of one.

    Raises:
        RuntimeError: it is entered.
    """
    raise RuntimeError(
        "enable_reentrant_dispatch: Accessing torch dispatch state outside of '__torch_dispatch__' is not allowed"
    )
    yield


def _get_current_function_mode() -> Any:
    return (_core._function_modes() or [None])[-1]


def _get_current_function_mode_stack() -> list[Any]:
    return _core._function_modes()


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    mode = _core._pop_function_mode()
    try:
        yield mode
    finally:
        _core._push_function_mode(mode)


_PLAIN = (type, ModuleType, FunctionType, BuiltinFunctionType)  # a function that asks is of none of these types


def _members(namespace: Any) -> Iterator[tuple[str, Any]]:
    is_class = inspect.isclass(namespace)
    for name in vars(namespace) if is_class else dir(namespace):
        if name.startswith("_") and not (is_class and name.startswith("__")):
            continue
        member = vars(namespace)[name] if is_class else getattr(namespace, name, None)
        if is_class and getattr(object, name, None) is member:
            continue
        if callable(member):
            yield name, member
        elif is_class and member is not None and hasattr(member, "__set__"):
            yield f"{name}.__get__", member.__get__
            if getattr(member, "fset", member):
                yield f"{name}.__set__", member.__set__


@functools.cache
def _sorted_functions() -> tuple[dict[Any, list[Any]], dict[Any, str], set[Any]]:
    """Overridable functions by namespace, their names, and the functions that ask no class."""
    overridable: dict[Any, list[Any]] = {}
    names: dict[Any, str] = {}
    ignored: set[Any] = set()
    package = __name__.partition(".")[0]
    for place in _NAMESPACES:
        if place == "Tensor":
            namespace: Any = Tensor
        else:
            try:
                namespace = import_module(f"{package}.{place}" if place else package)
            except ImportError:
                continue
        for name, function in _members(namespace):
            path = f"{place}.{name}" if place else name
            if path in _IGNORED or issubclass(type(function), _PLAIN):
                if not inspect.isclass(function):
                    ignored.add(function)
            elif function not in names or place != "Tensor":
                overridable.setdefault(namespace, []).append(function)
                names[function] = f"torch.{path}"
    return overridable, names, ignored - set(names)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that `__torch_function__` may override, by namespace: modules, and Tensor.

    Example:
        >>> torch.add in torch.overrides.get_overridable_functions()[torch]
        True
    """
    return {namespace: list(functions) for namespace, functions in _sorted_functions()[0].items()}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """The functions that no class may override, because they make tensors or take none.

    Example:
        >>> torch.tensor in torch.overrides.get_ignored_functions()
        True
    """
    return set(_sorted_functions()[2])


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that may be overridden one with its signature, which returns -1.

    Example:
        >>> torch.overrides.get_testing_overrides()[torch.exp](torch.ones(1))
        -1
    """
    return {function: _dummy(function) for function in _sorted_functions()[1]}


def _dummy(function: Any) -> Callable[..., int]:
    if getattr(function, "__name__", "") in ("__get__", "__set__"):
        return (lambda self: -1) if function.__name__ == "__get__" else (lambda self, value: -1)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return lambda *args, **kwargs: -1

    def dummy(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    dummy.__signature__ = signature  # type: ignore[attr-defined]
    return dummy


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The functions whose tensors `Tensor.__torch_function__` gives as they are.

    Example:
        >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
        True
    """
    from ._subclass import _AS_THEY_ARE

    return set(_AS_THEY_ARE)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether it is a method of tensors or an access to a property, `Tensor.shape.__get__`.

    A method that is a function as well, such as `torch.add`, is one.

    Example:
        >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
        True
    """
    return getattr(func, "__name__", "") in ("__get__", "__set__") or func in _methods()


@functools.cache
def _methods() -> set[Any]:
    return {member for _, member in _members(Tensor)}


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name by which users know a function that `__torch_function__` got; None if it is none of them.

    Example:
        >>> torch.overrides.resolve_name(torch.Tensor.shape.__get__)
        'torch.Tensor.shape.__get__'
    """
    return _sorted_functions()[1].get(f)


__getattr__ = _missing_from(__name__)
