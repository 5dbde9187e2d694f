"""`torch.utils.dlpack`: tensors to and from other libraries, without copies."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._tensor_protocols import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that shares the tensor's memory: what `tensor.__dlpack__()` gives.

    Example:
        >>> type(torch.utils.dlpack.to_dlpack(torch.ones(2))).__name__
        'PyCapsule'
    """
    return tensor.__dlpack__()
