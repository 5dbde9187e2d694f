"""Methods of Tensor that give it in another dtype or on another device."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Tensor, dtype
from ._device import CPU, check_device, device
from ._domains import domain
from ._methods import method
from ._numeric import PYTHON_DTYPES

_DTYPES: dict[str, dtype] = _core.dtypes


def _converted(self: Tensor, kind: dtype, copy: bool = False) -> Tensor:
    """Itself if it has the dtype already, else (or with `copy`) a copy in it."""
    if copy and self.dtype is kind:
        return self.clone()
    return self if self.dtype is kind else self._cast(kind)


@method
@domain(
    "real, args=[float64]; "
    "real, args=['cpu']; "
    "integer, args=['cpu', float64]; "
    "real, args=[int64]; "
    "self=integer(a, b), args=[constant(real(b))]"
)
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another dtype: `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(other)`.

    Args:
        dtype: by default that of the tensor.
        device: the CPU, or "meta" for a tensor of the same geometry without values.
        other: what to take dtype and device from.
        non_blocking: accepted; everything waits.
        copy: copy even if nothing changes.

    Returns:
        The tensor itself if nothing changes.

    Raises:
        NotImplementedError: from "meta" to the CPU, for there are no values to copy; or another device.
        TypeError: what is neither dtype, device nor tensor.

    Example:
        >>> torch.tensor([1.5, 2.5]).to(torch.int64)
        tensor([1, 2])
    """
    if len(args) == 1 and isinstance(args[0], dtype) and not kwargs:
        return _converted(self, args[0])
    place, kind, copy = _read_to(args, kwargs)
    if place is not None and place is not self.device:
        if place is CPU:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        moved: Tensor = _core.ops._to_meta(self, self.dtype if kind is None else kind)
        return moved
    return _converted(self, self.dtype if kind is None else kind, copy)


def _read_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[device | None, dtype | None, bool]:
    place: device | None = None
    kind: dtype | None = None
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        place, kind = rest[0].device, rest.pop(0).dtype
    elif rest and isinstance(rest[0], (dtype, type)):
        kind = rest.pop(0)
    elif rest:
        if rest[0] is not None and not isinstance(rest[0], str | int | device):
            raise TypeError(f"to: expected a dtype, a device or a tensor, got {type(rest[0]).__name__}")
        named = rest.pop(0)
        place = None if named is None else check_device(named, "to")
        if rest and (rest[0] is None or isinstance(rest[0], (dtype, type))):
            kind = rest.pop(0)
    options = {"non_blocking": False, "copy": False, **dict(zip(("non_blocking", "copy"), rest, strict=False))}
    if len(rest) > 2:
        raise TypeError(f"to: expected at most {len(args) - len(rest) + 2} positional arguments, got {len(args)}")
    for name, value in kwargs.items():
        if name == "device":
            place = None if value is None else check_device(value, "to")
        elif name == "dtype":
            kind = value
        elif name == "other":
            place, kind = value.device, value.dtype
        elif name in options:
            options[name] = value
        elif name != "memory_format":
            raise TypeError(f"to: got an unexpected keyword argument '{name}'")
    if kind is not None and not isinstance(kind, dtype):
        if not isinstance(kind, type) or kind not in PYTHON_DTYPES:
            raise TypeError(f"to: expected a dtype, got {kind!r}")
        kind = PYTHON_DTYPES[kind]
    return place, kind, bool(options["copy"])


_BY_VALUE = "positive; self=index(3, a, b)"
_WITHOUT_DIFFERENCES = "self=constant(positive(a, b)); self=index(3, a, b)"  # which float32 is too coarse for
_CONVERSIONS = {
    "double": ("double", _BY_VALUE),
    "float": ("float", _WITHOUT_DIFFERENCES),
    "long": ("long", _BY_VALUE),
    "int": ("int", _BY_VALUE),
    "bool": ("bool", _BY_VALUE),
    "byte": ("uint8", _BY_VALUE),
    "half": ("half", _WITHOUT_DIFFERENCES),
    "bfloat16": ("bfloat16", _WITHOUT_DIFFERENCES),
    "short": ("short", _BY_VALUE),
    "char": ("int8", _BY_VALUE),
    "cfloat": ("complex64", _WITHOUT_DIFFERENCES),
    "cdouble": ("complex128", _BY_VALUE),
}


def _add_conversions() -> None:
    for name, (kind, values) in _CONVERSIONS.items():
        wanted = _DTYPES[kind]

        def convert(self: Tensor, memory_format: Any = None, *, _kind: dtype = wanted) -> Tensor:
            return _converted(self, _kind)

        convert.__name__ = convert.__qualname__ = name
        convert.__doc__ = f"The tensor in dtype {wanted}; itself if it has that already."
        convert.__doc__ += f"\n\nExample:\n    >>> torch.tensor([0, 1]).{name}().dtype\n    {wanted}"
        method(domain(values)(convert))


_add_conversions()


@method
@domain("real; self=integer(a, b), other=constant(real(b)); self=real(a, b), other=index(3, b)")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of the other.

    Example:
        >>> torch.tensor([1, 2]).type_as(torch.tensor(0.5))
        tensor([1., 2.])
    """
    return _converted(self, other.dtype)


@method
@domain("real")
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Itself if it is on the CPU; a tensor on "meta" has no values to bring there, and raises.

    Example:
        >>> torch.ones(1).cpu()
        tensor([1.])
    """
    return self.to(CPU)


@method
@domain("unsampled, 'there is none'")
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Not supported: the CPU is the only device so far."""
    raise NotImplementedError("cuda: expected device 'cpu', got 'cuda'; the CPU is the only device so far")


@method
@domain("real")
def get_device(self: Tensor) -> int:
    """The number of the accelerator that holds the tensor; -1 for the CPU.

    Example:
        >>> torch.ones(1).get_device()
        -1
    """
    return -1


# ------------------------------------------------------------------------------------------ loaded when they are called
@method
@domain("unsampled, 'the function of this name is sampled'")
def stft(self: Tensor, n_fft: int, *args: Any, **kwargs: Any) -> Tensor:
    """Fourier transforms of overlapping pieces: see `torch.stft`.

    Example:
        >>> torch.ones(4).stft(2, hop_length=2, center=False, return_complex=True).shape
        torch.Size([2, 2])
    """
    from .fft._short_time import stft

    return stft(self, n_fft, *args, **kwargs)


@method
@domain("unsampled, 'only some complex arrays are transforms of signals'")
def istft(self: Tensor, n_fft: int, *args: Any, **kwargs: Any) -> Tensor:
    """The signals of these transforms: see `torch.istft`.

    Example:
        >>> torch.ones(4).stft(2, return_complex=True, hop_length=1).istft(2, hop_length=1)
        tensor([1., 1., 1., 1.])
    """
    from .fft._short_time import istft

    return istft(self, n_fft, *args, **kwargs)
