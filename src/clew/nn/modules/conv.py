"""Convolution layers."""

from __future__ import annotations

from typing import Any

import clew
from clew import Tensor

from .. import functional as F
from .conv_base import Numbers, _ConvNd
from .conv_transpose import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
]


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: str | Numbers = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip

    def _padded(self, input: Tensor) -> tuple[Tensor, str | tuple[int, ...]]:
        """The input with what is not zeros around it, and the zeros that are left for the convolution."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), (0,) * self.axes


class Conv1d(_Conv):
    """Cross-correlation of sequences (N, C, L) with learned kernels, plus a bias: see `clew.nn.functional.conv1d`.

    Args:
        in_channels, out_channels: C before and after.
        kernel_size, stride, padding, dilation, groups: as in the function.
        bias: whether there is a bias.
        padding_mode: "zeros", or a mode of `clew.nn.functional.pad`: "reflect", "replicate", "circular".

    Attributes:
        weight: of shape (out_channels, in_channels / groups, kernel_size), drawn from U(-k, k) with
            k = 1 / sqrt(in_channels / groups * kernel_size).
        bias: of shape (out_channels), drawn likewise.

    Raises:
        ValueError: `groups` does not divide the channels, or another `padding_mode`.
        RuntimeError: in a call, sizes or dtypes do not fit.

    Example:
        >>> torch.nn.Conv1d(2, 4, 3)(torch.ones(5, 2, 8)).shape == (5, 4, 6)
        True
    """

    axes = 1

    def forward(self, input: Tensor) -> Tensor:
        x, padding = self._padded(input)
        return clew.conv1d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """Cross-correlation of images (N, C, H, W) with learned kernels: see `Conv1d`.

    Sizes are one number for both axes, or (height, width).
    The weight has shape (out_channels, in_channels / groups, h, w).

    Example:
        >>> torch.nn.Conv2d(1, 4, 3, padding=1)(torch.ones(5, 1, 8, 8)).shape == (5, 4, 8, 8)
        True
    """

    axes = 2

    def forward(self, input: Tensor) -> Tensor:
        x, padding = self._padded(input)
        return clew.conv2d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Conv):
    """Cross-correlation of volumes (N, C, D, H, W) with learned kernels: see `Conv1d`.

    Example:
        >>> torch.nn.Conv3d(1, 4, (1, 2, 2))(torch.ones(5, 1, 3, 4, 4)).shape == (5, 4, 3, 3, 3)
        True
    """

    axes = 3

    def forward(self, input: Tensor) -> Tensor:
        x, padding = self._padded(input)
        return clew.conv3d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)
