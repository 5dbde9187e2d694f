"""`torch._utils`: what libraries take from there."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

import clew

from ._core import Tensor
from ._unsupported import missing_from

__all__ = ["ExceptionWrapper"]


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all tensors, in one row."""
    flat: Tensor = clew.cat([tensor.contiguous().view(-1) for tensor in tensors]) if tensors else clew.empty(0)
    return flat


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Views of a row in the shapes of the tensors: what `_flatten_dense_tensors` put there."""
    parts, start = [], 0
    for tensor in tensors:
        parts.append(flat.narrow(0, start, tensor.numel()).view_as(tensor))
        start += tensor.numel()
    return tuple(parts)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    """A parameter over the tensor."""
    return clew.nn.Parameter(data, requires_grad)


def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, *rest: Any
) -> Tensor:
    """A tensor on a storage: what a pickle of PyTorch's, which is no file of `save`, calls."""
    made: Tensor = storage._tensor.as_strided(size, stride, storage_offset).detach()
    bits = rest[0] if rest and rest[0] else {}
    if bits.get("conj"):
        made = made.conj()
    if bits.get("neg"):
        made = -made
    return made.requires_grad_(requires_grad)


def _load_from_bytes(data: bytes) -> Any:
    """The storage in a pickle of PyTorch's, which is no file of `save`. As any pickle, it can run any code."""
    return clew.load(io.BytesIO(data), weights_only=False).storage()


def _get_available_device_type() -> None:
    """None: there is no device but the CPU."""


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device; -1 for the CPU, where `allow_cpu`, and for None, where `optional`."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if device is None and optional:
        return -1
    kind = clew.device(device)
    if kind.type != "cpu" or not allow_cpu:
        raise ValueError(f"_get_device_index: expected the index of a device that is no CPU, got {device!r}")
    return -1 if kind.index is None else kind.index


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


class KeyErrorMessage(str):
    """A message that `KeyError` shows with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception as a text, to be raised again in another process or thread.

    Args:
        exc_info: as `sys.exc_info()` gives it, which is the default.
        where: said in the message.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        given = exc_info or sys.exc_info()
        self.exc_type: Any = given[0]
        self.exc_msg = "".join(traceback.format_exception(*given))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same type, whose message has the first one's traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:  # one that takes other arguments
            raise RuntimeError(message) from None
        raise error


__getattr__ = missing_from(__name__)
