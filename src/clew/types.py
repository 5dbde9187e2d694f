"""`torch.types`: the types that annotations name."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from ._core import Tensor, dtype
from ._device import device, layout
from ._size import Size
from ._storage import UntypedStorage as Storage
from ._unsupported import missing_from

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_dtype, _device, _layout, _size = dtype, device, layout, Size | list[int] | tuple[int, ...]
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
PySymType: TypeAlias = int | float | bool
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

__all__ = ["Device", "FileLike", "Number", "Storage"]

__getattr__ = missing_from(__name__)
