"""Layers that put back what a max pooling found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from clew import Tensor

from .. import functional as F
from .module import Module
from .pooling import Numbers
from .utils import _ntuple

__all__ = ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _MaxUnpoolNd(Module):
    """What all share: the pooling's numbers for each axis."""

    axes: ClassVar[int]

    def __init__(self, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0) -> None:
        super().__init__()
        each = _ntuple(self.axes)
        self.kernel_size, self.padding = each(kernel_size), each(padding)
        self.stride = each(kernel_size if stride is None else stride)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self.axes - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool1d`: its results where they were found, zeros elsewhere.

    See `clew.nn.functional.max_unpool1d`.

    Example:
        >>> pooled, indices = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
        >>> torch.nn.MaxUnpool1d(2)(pooled, indices)
        tensor([[0., 3., 2., 0.]])
    """

    axes = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool2d`: its results where they were found, zeros elsewhere.

    See `clew.nn.functional.max_unpool2d`.

    Example:
        >>> pooled, indices = torch.nn.MaxPool2d(2, return_indices=True)(torch.arange(4.0).reshape(1, 2, 2))
        >>> torch.nn.MaxUnpool2d(2)(pooled, indices)
        tensor([[[0., 0.],
                 [0., 3.]]])
    """

    axes = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool3d`: its results where they were found, zeros elsewhere.

    See `clew.nn.functional.max_unpool3d`.

    Example:
        >>> pooled, indices = torch.nn.MaxPool3d(2, return_indices=True)(torch.arange(8.0).reshape(1, 2, 2, 2))
        >>> torch.nn.MaxUnpool3d(2)(pooled, indices)
        tensor([[[[0., 0.],
                  [0., 0.]],
        <BLANKLINE>
                 [[0., 0.],
                  [0., 7.]]]])
    """

    axes = 3
