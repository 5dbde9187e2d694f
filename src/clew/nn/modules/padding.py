"""Padding layers: `padding` is (before, after) for the last axis, then for the one before, ...; or one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from clew import Tensor

from .. import functional as F
from .module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """What all have: how many axes they pad, and with what."""

    axes: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.axes) if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != 2 * self.axes:
            raise ValueError(f"{type(self).__name__}: expected a number or {2 * self.axes} of them, got {padding}")

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ReflectionPadNd(_PadNd):
    mode = "reflect"


class _ReplicationPadNd(_PadNd):
    mode = "replicate"


class _CircularPadNd(_PadNd):
    mode = "circular"


class _ConstantPadNd(_PadNd):
    mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ConstantPad1d(_ConstantPadNd):
    """Adds elements of `value` around sequences (..., L): see `clew.nn.functional.pad`."""

    axes = 1


class ConstantPad2d(_ConstantPadNd):
    """Adds elements of `value` around images (..., H, W): see `clew.nn.functional.pad`."""

    axes = 2


class ConstantPad3d(_ConstantPadNd):
    """Adds elements of `value` around volumes (..., D, H, W): see `clew.nn.functional.pad`."""

    axes = 3


class ZeroPad1d(_ZeroPadNd):
    """Adds zeros around sequences (..., L): see `clew.nn.functional.pad`."""

    axes = 1


class ZeroPad2d(_ZeroPadNd):
    """Adds zeros around images (..., H, W): see `clew.nn.functional.pad`."""

    axes = 2


class ZeroPad3d(_ZeroPadNd):
    """Adds zeros around volumes (..., D, H, W): see `clew.nn.functional.pad`."""

    axes = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Adds the input in reverse around sequences (..., L): see `clew.nn.functional.pad`.

    >>> import clew
    >>> clew.nn.ReflectionPad1d(1)(clew.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    axes = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Adds the input in reverse around images (..., H, W): see `clew.nn.functional.pad`."""

    axes = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Adds the input in reverse around volumes (..., D, H, W): see `clew.nn.functional.pad`."""

    axes = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Adds the border again and again around sequences (..., L): see `clew.nn.functional.pad`."""

    axes = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Adds the border again and again around images (..., H, W): see `clew.nn.functional.pad`."""

    axes = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Adds the border again and again around volumes (..., D, H, W): see `clew.nn.functional.pad`."""

    axes = 3


class CircularPad1d(_CircularPadNd):
    """Adds the input from its other end around sequences (..., L): see `clew.nn.functional.pad`."""

    axes = 1


class CircularPad2d(_CircularPadNd):
    """Adds the input from its other end around images (..., H, W): see `clew.nn.functional.pad`."""

    axes = 2


class CircularPad3d(_CircularPadNd):
    """Adds the input from its other end around volumes (..., D, H, W): see `clew.nn.functional.pad`."""

    axes = 3
