"""Constructors with a dtype in their name, as of old: `FloatTensor([1, 2])`, `LongTensor(2, 3)`, `x.new(3)`."""

from __future__ import annotations

import operator
from typing import Any

from . import _core
from ._core import Tensor, asks_for_derivative, dtype
from ._device import check_device, placed, strided
from ._domains import domain
from ._methods import method
from ._size import Size
from ._storage import TypedStorage
from .ops.creation import empty
from .ops.from_data import tensor

_MISSING: Any = object()
_NAMES = {
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "float16": "HalfTensor",
    "bfloat16": "BFloat16Tensor",
    "int64": "LongTensor",
    "int32": "IntTensor",
    "int16": "ShortTensor",
    "int8": "CharTensor",
    "uint8": "ByteTensor",
    "bool": "BoolTensor",
}
# Without constructors, as in PyTorch.
_COMPLEX_NAMES = {"complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor"}


class _TypedConstructor(type):
    """What `FloatTensor` and the others are: called, they make tensors; these are plain ones, told by their dtype."""

    dtype: dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        with placed(check_device(device, cls.__name__)):
            return _make(cls.__name__, cls.dtype, args)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.layout is strided

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _make(name: str, kind: dtype, args: tuple[Any, ...]) -> Tensor:
    """A tensor with this data, or of these sizes and not filled."""
    data = args[0] if args else 0
    if len(args) > 1 or isinstance(data, Size) or _is_size(data):
        sizes = data if isinstance(data, Size) and len(args) == 1 else args or (0,)
        return empty([_size(name, one) for one in sizes], dtype=kind)
    if isinstance(data, Tensor):
        if data.dtype is not kind:
            raise TypeError(f"{name}: expected a tensor of {kind}, got {data.dtype}; convert it with .to({kind})")
        plain = data.as_subclass(Tensor)
        return plain.view(plain.shape) if plain.requires_grad or asks_for_derivative(plain) else plain.detach()
    if isinstance(data, TypedStorage) and data.dtype is kind:
        return data._tensor.detach()
    if (
        isinstance(data, str)
        or not hasattr(data, "__len__")
        or not hasattr(data, "__getitem__")
        or isinstance(data, dict)
    ):
        raise TypeError(
            f"{name}: invalid data type '{type(data).__name__}'; data must be a sequence (got {type(data).__name__}), "
            "of numbers or nested sequences of them"
        )
    return tensor(data, dtype=kind)


def _is_size(one: Any) -> bool:
    """Whether it is a whole number, NumPy's too; bools and tensors are data."""
    if isinstance(one, (bool, Tensor)):
        return False
    try:
        operator.index(one)
    except TypeError:
        return False
    return True


def _size(name: str, one: Any) -> int:
    if isinstance(one, bool):
        raise TypeError(f"{name}: expected sizes to be integers, got bool")
    return operator.index(one)


def make_default(data: Any = _MISSING, *sizes: Any, device: Any = None) -> Tensor:
    """What `Tensor(...)` gives: data, or sizes, in the default dtype."""
    place = check_device(device, "Tensor")
    kind = data.dtype if isinstance(data, Tensor) else _core.get_default_dtype()  # a tensor keeps its own
    with placed(place):
        return _make("Tensor", kind, () if data is _MISSING else (data, *sizes))


CONSTRUCTORS: dict[str, Any] = {
    name: _TypedConstructor(
        name,
        (),
        {
            "__module__": "torch",
            "dtype": _core.dtypes[kind],
            "__doc__": f"Makes tensors of {_core.dtypes[kind]}: of data, or of sizes and not filled.",
        },
    )
    for kind, name in _NAMES.items()
}
_TYPE_NAMES = {_core.dtypes[kind]: f"torch.{name}" for kind, name in {**_NAMES, **_COMPLEX_NAMES}.items()}
_DTYPES_BY_NAME = {name: kind for kind, name in _TYPE_NAMES.items()}


def named_dtype(named: Any) -> dtype:
    """The dtype that `x.type(...)` or `set_default_tensor_type(...)` is told: a dtype, a constructor or its name.

    Raises:
        ValueError: a name that is none of a tensor type.
        TypeError: something else.
    """
    if isinstance(named, dtype):
        return named
    if isinstance(named, _TypedConstructor):
        kind: dtype = named.dtype
        return kind
    if not isinstance(named, (str, type)):
        raise TypeError(f"type: expected a dtype, a tensor type or its name, got {type(named).__name__}")
    if named is Tensor or named == "torch.Tensor":
        return _core.get_default_dtype()
    text = named if isinstance(named, str) else named.__name__
    if text not in _DTYPES_BY_NAME:
        raise ValueError(f"invalid type: '{text}'; expected one of {', '.join(_DTYPES_BY_NAME)}")
    found: dtype = _DTYPES_BY_NAME[text]
    return found


@domain("unsampled, 'it changes a setting'")
def set_default_tensor_type(t: Any) -> None:
    """Make the dtype of this tensor type (`FloatTensor`, "torch.DoubleTensor") the default one.

    Raises:
        TypeError: what is no such type.

    Example:
        >>> torch.set_default_tensor_type(torch.DoubleTensor)
        >>> torch.ones(1).dtype
        torch.float64
        >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    if isinstance(t, dtype) or t is Tensor:
        raise TypeError(f"set_default_tensor_type: expected a tensor type or its name, got {t}; use set_default_dtype")
    _core.set_default_dtype(named_dtype(t))


@method
@domain("real, args=[[3, 4]]; real, args=[constant(real(b))]")
def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of the same dtype with this data, or of these sizes and not filled.

    Example:
        >>> torch.ones(2).new([3, 4])
        tensor([3., 4.])
        >>> torch.ones(2).new(2, 3).shape
        torch.Size([2, 3])
    """
    with placed(self.device if device is None else check_device(device, "new")):
        return _make("new", self.dtype, args)


@domain("real; integer, dtype=float64; real, dtype='torch.LongTensor'")
def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type (`torch.FloatTensor`), or the tensor in the dtype that is given.

    Example:
        >>> torch.ones(1).type()
        'torch.FloatTensor'
    """
    if dtype is None:
        return _TYPE_NAMES[self.dtype].replace("torch.", "torch.meta.") if self.is_meta else _TYPE_NAMES[self.dtype]
    return self.to(named_dtype(dtype))


_type.__name__ = "type"
method(_type)
