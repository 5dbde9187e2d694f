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
    """Adds `value` around sequences (..., L): see `clew.nn.functional.pad`.

    `padding` is one number for all sides, or (before, after) of each axis, the last axis first; negative ones crop.

    Example:
        >>> torch.nn.ConstantPad1d(1, 7.0)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[7., 1., 2., 3., 7.]])
    """

    axes = 1


class ConstantPad2d(_ConstantPadNd):
    """Adds `value` around images (..., H, W): see `ConstantPad1d`.

    Example:
        >>> torch.nn.ConstantPad2d(1, 7.0)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[7., 7., 7., 7.],
                 [7., 1., 2., 7.],
                 [7., 3., 4., 7.],
                 [7., 7., 7., 7.]]])
    """

    axes = 2


class ConstantPad3d(_ConstantPadNd):
    """Adds `value` around volumes (..., D, H, W): see `ConstantPad1d`.

    Example:
        >>> torch.nn.ConstantPad3d((1, 0, 0, 0, 0, 0), 7.0)(torch.arange(8.0).reshape(1, 2, 2, 2))[0, 0]
        tensor([[7., 0., 1.],
                [7., 2., 3.]])
    """

    axes = 3


class ZeroPad1d(_ZeroPadNd):
    """Adds zeros around sequences (..., L): see `clew.nn.functional.pad`.

    `padding` is one number for all sides, or (before, after) of each axis, the last axis first; negative ones crop.

    Example:
        >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[0., 1., 2., 3., 0.]])
    """

    axes = 1


class ZeroPad2d(_ZeroPadNd):
    """Adds zeros around images (..., H, W): see `ZeroPad1d`.

    Example:
        >>> torch.nn.ZeroPad2d(1)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[0., 0., 0., 0.],
                 [0., 1., 2., 0.],
                 [0., 3., 4., 0.],
                 [0., 0., 0., 0.]]])
    """

    axes = 2


class ZeroPad3d(_ZeroPadNd):
    """Adds zeros around volumes (..., D, H, W): see `ZeroPad1d`.

    Example:
        >>> torch.nn.ZeroPad3d((1, 0, 0, 0, 0, 0))(torch.arange(8.0).reshape(1, 2, 2, 2))[0, 0]
        tensor([[0., 0., 1.],
                [0., 2., 3.]])
    """

    axes = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Adds a mirror image, without the border itself, around sequences (..., L): see `clew.nn.functional.pad`.

    `padding` is one number for all sides, or (before, after) of each axis, the last axis first; negative ones crop.

    Example:
        >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[2., 1., 2., 3., 2.]])
    """

    axes = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Adds a mirror image, without the border itself, around images (..., H, W): see `ReflectionPad1d`.

    Example:
        >>> torch.nn.ReflectionPad2d(1)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[4., 3., 4., 3.],
                 [2., 1., 2., 1.],
                 [4., 3., 4., 3.],
                 [2., 1., 2., 1.]]])
    """

    axes = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Adds a mirror image, without the border itself, around volumes (..., D, H, W): see `ReflectionPad1d`.

    Example:
        >>> torch.nn.ReflectionPad3d((1, 0, 0, 0, 0, 0))(torch.arange(8.0).reshape(1, 2, 2, 2))[0, 0]
        tensor([[1., 0., 1.],
                [3., 2., 3.]])
    """

    axes = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Adds copies of the border around sequences (..., L): see `clew.nn.functional.pad`.

    `padding` is one number for all sides, or (before, after) of each axis, the last axis first; negative ones crop.

    Example:
        >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 1., 2., 3., 3.]])
    """

    axes = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Adds copies of the border around images (..., H, W): see `ReplicationPad1d`.

    Example:
        >>> torch.nn.ReplicationPad2d(1)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[1., 1., 2., 2.],
                 [1., 1., 2., 2.],
                 [3., 3., 4., 4.],
                 [3., 3., 4., 4.]]])
    """

    axes = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Adds copies of the border around volumes (..., D, H, W): see `ReplicationPad1d`.

    Example:
        >>> torch.nn.ReplicationPad3d((1, 0, 0, 0, 0, 0))(torch.arange(8.0).reshape(1, 2, 2, 2))[0, 0]
        tensor([[0., 0., 1.],
                [2., 2., 3.]])
    """

    axes = 3


class CircularPad1d(_CircularPadNd):
    """Adds elements from the other end around sequences (..., L): see `clew.nn.functional.pad`.

    `padding` is one number for all sides, or (before, after) of each axis, the last axis first; negative ones crop.

    Example:
        >>> torch.nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[3., 1., 2., 3., 1.]])
    """

    axes = 1


class CircularPad2d(_CircularPadNd):
    """Adds elements from the other end around images (..., H, W): see `CircularPad1d`.

    Example:
        >>> torch.nn.CircularPad2d(1)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[4., 3., 4., 3.],
                 [2., 1., 2., 1.],
                 [4., 3., 4., 3.],
                 [2., 1., 2., 1.]]])
    """

    axes = 2


class CircularPad3d(_CircularPadNd):
    """Adds elements from the other end around volumes (..., D, H, W): see `CircularPad1d`.

    Example:
        >>> torch.nn.CircularPad3d((1, 0, 0, 0, 0, 0))(torch.arange(8.0).reshape(1, 2, 2, 2))[0, 0]
        tensor([[1., 0., 1.],
                [3., 2., 3.]])
    """

    axes = 3
