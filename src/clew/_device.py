"""Where a tensor lives and how it lies there: on the CPU, or on "meta", where it has a shape and no values."""

from __future__ import annotations

import threading
from typing import Any

from . import _core

# Device types that scripts may name, as in `device("cuda" if cuda.is_available() else "cpu")`.
_TYPES = ("cpu", "cuda", "mps", "xpu", "meta", "hip", "xla", "mtia", "hpu")


class device:
    """A device by its type and, if it has one, its number.

    Example:
        >>> torch.device("cpu")
        device(type='cpu')
        >>> torch.device("cuda:1").index
        1

    As a context it is where tensors are made that are not told another device:

        >>> with torch.device("meta"):
        ...     torch.ones(1000000, 1000000)
        tensor(..., device='meta', size=(1000000, 1000000))
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __new__(cls, type: Any = None, index: int | None = None, *, device: Any = None) -> device:
        type = device if type is None else type
        if isinstance(type, cls):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            raise RuntimeError(f"device: expected 'cpu', got the number {type} of an accelerator; there is none")
        if not isinstance(type, str):
            raise TypeError(f"device: expected a string such as 'cpu', got {type.__class__.__name__}")
        kind, colon, number = type.partition(":")
        if kind not in _TYPES:
            raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {type}")
        if colon:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            if not number.isdecimal():
                raise RuntimeError(f"Invalid device string: '{type}'; expected a number after the colon")
            index = int(number)
        self = object.__new__(cls)
        self.type = kind
        self.index = index
        return self

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + (")" if self.index is None else f", index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        on_meta = check_device(self, "device") is META
        _entered.before.append(_core._set_makes_meta(on_meta))
        return self

    def __exit__(self, *exc_info: object) -> None:
        _core._set_makes_meta(_entered.before.pop())


class _Entered(threading.local):
    """What was the default before each device that this thread has entered."""

    def __init__(self) -> None:
        self.before: list[bool] = []


_entered = _Entered()
CPU = device("cpu")
META = device("meta")
_core._set_devices(CPU, META)


class placed:
    """For a block, new tensors are made on this device; None changes nothing."""

    __slots__ = ("_before", "_device")

    def __init__(self, device: Any) -> None:
        self._device = device

    def __enter__(self) -> None:
        if self._device is not None:
            self._before = _core._set_makes_meta(check_device(self._device, "device") is META)

    def __exit__(self, *exc_info: object) -> None:
        if self._device is not None:
            _core._set_makes_meta(self._before)


def check_device(value: Any, operation: str) -> device:
    """The device that an argument `device=` means; None is the CPU.

    Raises:
        NotImplementedError: a device other than the CPU and meta.
        RuntimeError: no device at all.
    """
    if value is None or value is CPU:
        return CPU
    found = device(value)
    if found.type not in ("cpu", "meta"):
        raise NotImplementedError(
            f"{operation}: expected device 'cpu', got '{found}'; the CPU is the only device so far, besides 'meta'"
        )
    return CPU if found.type == "cpu" else META


def get_default_device() -> device:
    """Where this thread makes tensors if no device is given.

    Example:
        >>> torch.get_default_device()
        device(type='cpu')
    """
    return META if _core._makes_meta() else CPU


def set_default_device(device: Any) -> None:
    """Make tensors on this device from now on, in this thread, if no other is given; None is the CPU.

    Raises:
        NotImplementedError: a device other than the CPU and meta.

    Example:
        >>> torch.set_default_device("cpu")
    """
    _core._set_makes_meta(check_device(device, "set_default_device") is META)


class layout:
    """How the elements lie in memory: `clew.strided`, or `clew.sparse_coo`, `sparse_csr` and `sparse_csc`.

    Example:
        >>> torch.ones(2).layout
        torch.strided
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def __repr__(self) -> str:
        return f"{_core.imported_as()}.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format(layout):
    """The order of a tensor's axes in memory: `contiguous_format`, `channels_last` and so on.

    Example:
        >>> x = torch.ones(2, 3).T
        >>> torch.empty_like(x, memory_format=torch.contiguous_format).is_contiguous()
        True
    """

    __slots__ = ()


strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc, jagged = layout("sparse_bsr"), layout("sparse_bsc"), layout("jagged")  # names only
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
