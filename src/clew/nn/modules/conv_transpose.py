"""Transposed convolutions as layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import Tensor

from .. import functional as F
from .conv_base import Numbers, _ConvNd


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Numbers = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}, got {padding_mode!r}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """`output_size`: the sizes that the result is to have, in place of `output_padding`."""
        extra = self.output_padding if output_size is None else self._padding_for(input, list(output_size))
        function = getattr(F, f"conv_transpose{self.axes}d")
        result: Tensor = function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
        return result

    def _padding_for(self, input: Tensor, output_size: list[int]) -> tuple[int, ...]:
        leading = input.dim() - self.axes
        if len(output_size) == input.dim():
            output_size = output_size[leading:]
        if len(output_size) != self.axes:
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {self.axes} or {input.dim()} "
                f"elements (got {len(output_size)})"
            )
        extra = []
        for axis, wanted in enumerate(output_size):
            least = (input.shape[leading + axis] - 1) * self.stride[axis] - 2 * int(self.padding[axis])
            least += self.dilation[axis] * (self.kernel_size[axis] - 1) + 1
            if not least <= wanted < least + self.stride[axis]:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes of axis {axis} range from {least} to "
                    f"{least + self.stride[axis] - 1}"
                )
            extra.append(wanted - least)
        return tuple(extra)


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`, as a linear map: see `clew.nn.functional.conv_transpose1d`.

    The weight has shape (in_channels, out_channels / groups, kernel_size).

    Example:
        >>> torch.nn.ConvTranspose1d(4, 1, 2, stride=2)(torch.ones(5, 4, 8)).shape == (5, 1, 16)
        True
    """

    axes = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`, as a linear map: see `ConvTranspose1d`.

    Example:
        >>> torch.nn.ConvTranspose2d(4, 1, 2, stride=2)(torch.ones(5, 4, 8, 8)).shape == (5, 1, 16, 16)
        True
    """

    axes = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`, as a linear map: see `ConvTranspose1d`.

    Example:
        >>> torch.nn.ConvTranspose3d(4, 1, 2)(torch.ones(5, 4, 2, 2, 2)).shape == (5, 1, 3, 3, 3)
        True
    """

    axes = 3
