"""Convolution layers."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, cast

import clew
from clew import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
]

Numbers = int | Sequence[int]  # one for each axis of space, or one for all


class _ConvNd(Module):
    """What all convolutions have: parameters and their first values."""

    axes: ClassVar[int]
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers,
        padding: str | Numbers,
        dilation: Numbers,
        transposed: bool,
        output_padding: Numbers,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        _check_channels(in_channels, out_channels, groups)
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode={padding_mode!r}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = self._each("kernel_size", kernel_size, (self.axes,))
        self.stride = self._each("stride", stride, (1, self.axes))
        self.dilation = self._each("dilation", dilation, (1, self.axes))
        self.output_padding = self._each("output_padding", output_padding, (1, self.axes))
        self.padding = padding if isinstance(padding, str) else self._each("padding", padding, (1, self.axes))
        self.padding_mode, self.transposed = padding_mode, transposed
        if isinstance(padding, str):
            _check_named_padding(padding, self.stride)
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        sizes = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(clew.empty(sizes, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(clew.empty(out_channels, device=device, dtype=dtype)) if bias else None
        )
        self._reversed_padding_repeated_twice = self._around()
        self.reset_parameters()

    def _around(self) -> list[int]:
        """What `functional.pad` is called with: (before, after) for each axis, the last one first."""
        if self.padding == "same":
            totals = [gap * (size - 1) for gap, size in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(total // 2, total - total // 2) for total in totals]
        else:
            padding = (0,) * self.axes if isinstance(self.padding, str) else self.padding
            pairs = [(size, size) for size in (padding * self.axes)[: self.axes]]
        return [size for pair in reversed(pairs) for size in pair]

    def _each(self, name: str, value: Numbers, counts: tuple[int, ...]) -> tuple[int, ...]:
        """`value` for each axis. A sequence has one of so many `counts`: one stands for all when the layer runs."""
        with suppress(TypeError):
            return (operator.index(cast(int, value)),) * self.axes
        try:
            numbers = () if isinstance(value, str | bytes | bytearray) else tuple(map(operator.index, cast(Any, value)))
        except TypeError:
            numbers = ()
        if len(numbers) not in counts:
            expected = f"an int or {self.axes} {'int in a sequence' if self.axes == 1 else 'ints'}"
            raise TypeError(f"{type(self).__name__}: expected {name} to be {expected}, got {value!r}")
        return numbers

    def reset_parameters(self) -> None:
        """Draw new weights."""
        # With a = sqrt(5) the bound is 1 / sqrt(inputs of an output).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.shape[1:])
            if inputs != 0:
                init.uniform_(self.bias, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs))

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        ones, zeros = (1,) * self.axes, (0,) * self.axes
        if self.padding != zeros:
            text += f", padding={self.padding}"
        if self.dilation != ones:
            text += f", dilation={self.dilation}"
        if self.output_padding != zeros:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")


def _check_named_padding(padding: str, stride: tuple[int, ...]) -> None:
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
    if padding == "same" and any(step != 1 for step in stride):
        raise ValueError("padding='same' is not supported for strided convolutions")


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
