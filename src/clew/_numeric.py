"""What is known of dtypes: their limits, which of them hold a result, which one is the default."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Tensor, dtype
from ._domains import domain

_DTYPES: dict[str, dtype] = _core.dtypes
_NAMES: dict[str, dtype] = _core.dtype_names  # of which there are no tensors
_BOOL, _FLOAT32, _FLOAT64 = _DTYPES["bool"], _DTYPES["float32"], _DTYPES["float64"]

_BFLOAT16 = _DTYPES["bfloat16"]

_MISSING: Any = object()  # an argument that was not given, where None is refused

# Python's number types, where they stand for dtypes.
PYTHON_DTYPES: dict[Any, dtype] = {
    float: _FLOAT64,
    int: _DTYPES["int64"],
    bool: _BOOL,
    complex: _DTYPES["complex128"],
}

# name: resolution, eps, smallest normal, largest
_FLOATS: dict[dtype, tuple[float, float, float, float]] = {
    _DTYPES["float16"]: (1e-3, 2.0**-10, 2.0**-14, 65504.0),
    _DTYPES["bfloat16"]: (1e-2, 2.0**-7, 2.0**-126, (2 - 2.0**-7) * 2.0**127),
    _FLOAT32: (1e-6, 2.0**-23, 2.0**-126, (2 - 2.0**-23) * 2.0**127),
    _FLOAT64: (1e-15, 2.0**-52, 2.0**-1022, (2 - 2.0**-52) * 2.0**1023),
    _NAMES["float8_e4m3fn"]: (1.0, 2.0**-3, 2.0**-6, 448.0),
    _NAMES["float8_e4m3fnuz"]: (1.0, 2.0**-3, 2.0**-7, 240.0),
    _NAMES["float8_e5m2"]: (1.0, 2.0**-2, 2.0**-14, 57344.0),
    _NAMES["float8_e5m2fnuz"]: (1.0, 2.0**-3, 2.0**-15, 57344.0),
    _NAMES["float8_e8m0fnu"]: (1.0, 1.0, 2.0**-127, 2.0**127),
}
_INTEGERS = [_DTYPES[name] for name in ("uint8", "int8", "int16", "int32", "int64")]
_INTEGERS += [_NAMES[name] for name in ("uint16", "uint32", "uint64")]


class finfo:
    """The limits of a floating dtype, or of the parts of a complex one; of the default dtype if none is given.

    Raises:
        TypeError: the dtype is not floating.

    Example:
        >>> torch.finfo(torch.float64).eps
        2.220446049250313e-16
    """

    def __init__(self, type: dtype | None = _MISSING) -> None:
        kind = get_default_dtype() if type is _MISSING else _checked("finfo", type)
        kind = kind.to_real()
        if kind not in _FLOATS:
            raise TypeError(f"torch.finfo() requires a floating point input type, got {kind}. Use torch.iinfo instead")
        self.resolution, self.eps, self.smallest_normal, self.max = _FLOATS[kind]
        self.min = -self.max if kind.is_signed else self.smallest_normal
        self.tiny, self.bits = self.smallest_normal, 8 * kind.itemsize
        self.dtype = _core.dtype_name(kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return "finfo(" + ", ".join(f"{name}={getattr(self, name):g}" for name in fields) + f", dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype.

    Raises:
        TypeError: the dtype is not one of integers.

    Example:
        >>> torch.iinfo(torch.int32).max
        2147483647
    """

    def __init__(self, type: dtype) -> None:
        kind = _checked("iinfo", type)
        if kind not in _INTEGERS:
            raise TypeError(f"torch.iinfo() requires an integer input type, got {kind}. Use torch.finfo instead")
        self.bits = 8 * kind.itemsize
        self.min = -(1 << self.bits - 1) if kind.is_signed else 0
        self.max = (1 << self.bits - kind.is_signed) - 1
        self.dtype = _core.dtype_name(kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def array_of(x: Tensor) -> Any:
    """A tensor's elements as an array of NumPy's; those of bfloat16, which NumPy has not, as float32."""
    x = x.detach()
    return (x.float() if x.dtype is _BFLOAT16 else x).numpy()


def _checked(name: str, kind: Any) -> dtype:
    """A dtype, which may be told as Python's `float` or `int`."""
    found = PYTHON_DTYPES.get(kind, kind) if isinstance(kind, type) else kind
    if not isinstance(found, dtype):
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type(kind).__name__}")
    return found


def _category(kind: dtype) -> int:
    return 3 if kind.is_complex else 2 if kind.is_floating_point else 0 if kind is _BOOL else 1


@domain("type1=int64, type2=float32; type1=bool, type2=int32")
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds both.

    Raises:
        TypeError: what is no dtype.

    Example:
        >>> torch.promote_types(torch.int64, torch.float32)
        torch.float32
    """
    for kind in (type1, type2):
        if not isinstance(kind, dtype):
            raise TypeError(f"promote_types: expected dtypes, got {type(kind).__name__}")
    promoted: dtype = _core.promote_types(type1, type2)
    return promoted


@domain("tensor1=index(3, a), tensor2=1.5; tensor1=index(3), tensor2=mask(b); tensor1=real(), tensor2=index(3, a)")
def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """The dtype of an arithmetic result of these two, each a tensor or a number.

    Numbers count less than 0-dim tensors, and these less than others: they decide only if they are of a higher
    category (bool, integer, floating, complex).

    Raises:
        TypeError: what is neither tensor nor number.

    Example:
        >>> torch.result_type(torch.tensor([1, 2]), 1.0)
        torch.float32
    """
    kinds: dict[int, dtype] = {}
    for value in (tensor1, tensor2):
        if isinstance(value, Tensor):
            kind = value.dtype
            rank = 1 if value._is_wrapped_number else 2 if value.ndim == 0 else 3
        elif isinstance(value, bool):
            kind, rank = _BOOL, 1
        elif isinstance(value, int):
            kind, rank = _DTYPES["int64"], 1
        elif isinstance(value, float):
            kind, rank = _FLOAT64, 1
        elif isinstance(value, complex):
            kind, rank = _DTYPES["complex128"], 1
        else:
            raise TypeError(f"result_type: expected tensors and numbers, got {type(value).__name__}")
        if rank == 1 and kind.is_floating_point:
            kind = get_default_dtype()
        elif rank == 1 and kind.is_complex:
            kind = get_default_dtype().to_complex()
        kinds[rank] = promote_types(kinds[rank], kind) if rank in kinds else kind
    ranks = sorted(kinds, reverse=True)
    result = kinds[ranks[0]]
    for rank in ranks[1:]:
        if _category(kinds[rank]) > _category(result):
            # Beside floating operands a complex one changes the category, not the precision.
            result = result.to_complex() if result.is_floating_point else kinds[rank]
    return result


@domain("from_=float64, to=float32; from_=float32, to=int64")
def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether values of the first dtype may be written into the second: never to a lower category.

    Raises:
        TypeError: what is no dtype.

    Example:
        >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)
        (True, False)
    """
    if not isinstance(from_, dtype) or not isinstance(to, dtype):
        raise TypeError(f"can_cast: expected dtypes, got {type(from_).__name__} and {type(to).__name__}")
    return _category(from_) <= _category(to)


@domain("real")
def get_default_dtype() -> dtype:
    """The dtype of floating tensors for which none is given: float32, unless `set_default_dtype` was called.

    Example:
        >>> torch.get_default_dtype()
        torch.float32
    """
    kind: dtype = _core.get_default_dtype()
    return kind


@domain("unsampled, 'it changes a setting'")
def set_default_dtype(d: dtype) -> None:
    """Make `d`, a floating dtype, the dtype of floating tensors for which none is given.

    Example:
        >>> torch.set_default_dtype(torch.float64)
        >>> torch.tensor(0.5).dtype
        torch.float64
        >>> torch.set_default_dtype(torch.float32)
    """
    _core.set_default_dtype(d)


@domain("obj=real(a); obj=1.5")
def is_tensor(obj: Any) -> bool:
    """Whether it is a `Tensor`.

    Example:
        >>> torch.is_tensor(torch.ones(1)), torch.is_tensor(1.0)
        (True, False)
    """
    return isinstance(obj, Tensor)


@domain("real; integer")
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating one.

    Example:
        >>> torch.is_floating_point(torch.ones(1)), torch.is_floating_point(torch.tensor([1]))
        (True, False)
    """
    return bool(input.dtype.is_floating_point)


@domain("real; integer")
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex.

    Example:
        >>> torch.is_complex(torch.ones(1))
        False
    """
    return bool(input.dtype.is_complex)


@domain("input=real(1); input=index(1)")
def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero.

    Raises:
        RuntimeError: it has no element, or several.

    Example:
        >>> torch.is_nonzero(torch.tensor([0.0])), torch.is_nonzero(torch.tensor([2]))
        (False, True)
    """
    return bool(input)


@domain("real; input=real()")
def numel(input: Tensor) -> int:
    """The number of elements.

    Example:
        >>> torch.numel(torch.ones(2, 3))
        6
    """
    return int(input.numel())


@domain("obj=integer(a)")
def typename(obj: Any) -> str:
    """The name of a tensor's type (`torch.FloatTensor`), or of any object's.

    Example:
        >>> torch.typename(torch.ones(1)), torch.typename(3)
        ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    module = type(obj).__module__
    return type(obj).__qualname__ if module in ("", "builtins") else f"{module}.{type(obj).__qualname__}"
