"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import clew
from clew import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

Numbers = int | Sequence[int]  # one for each axis of space, or one for all


def each(value: Numbers, axes: int) -> tuple[int, ...]:
    """`value` for each of so many axes."""
    return tuple(value) if isinstance(value, Sequence) else (value,) * axes


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
        if padding_mode != "zeros":
            raise NotImplementedError(
                f'{type(self).__name__}: padding_mode={padding_mode!r} is not supported; use "zeros"'
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = each(kernel_size, self.axes), each(stride, self.axes)
        self.dilation, self.output_padding = each(dilation, self.axes), each(output_padding, self.axes)
        self.padding = padding if isinstance(padding, str) else each(padding, self.axes)
        self.padding_mode, self.transposed = padding_mode, transposed
        if isinstance(padding, str):
            _check_named_padding(padding, self.stride)
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        sizes = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(clew.empty(sizes, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(clew.empty(out_channels, device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

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
        return text + (", bias=False" if self.bias is None else "")


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


class Conv1d(_Conv):
    """Slides learned kernels over sequences (N, C, L): see `clew.nn.functional.conv1d`.

    Args:
        in_channels, out_channels: C before and after.
        kernel_size, stride, padding, dilation, groups: as in the function.
        bias: whether there is a bias.
        padding_mode: "zeros"; others are not supported.

    Attributes:
        weight: of shape (out_channels, in_channels / groups, kernel_size), drawn from U(-k, k) with
            k = 1 / sqrt(in_channels / groups * kernel_size).
        bias: of shape (out_channels), drawn likewise.

    >>> import clew
    >>> clew.nn.Conv1d(2, 4, 3)(clew.ones(5, 2, 8)).shape == (5, 4, 6)
    True
    """

    axes = 1

    def forward(self, input: Tensor) -> Tensor:
        return clew.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """Slides learned kernels over images (N, C, H, W): see `Conv1d`.

    >>> import clew
    >>> clew.nn.Conv2d(1, 4, 3, padding=1)(clew.ones(5, 1, 8, 8)).shape == (5, 4, 8, 8)
    True
    """

    axes = 2

    def forward(self, input: Tensor) -> Tensor:
        return clew.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_Conv):
    """Slides learned kernels over volumes (N, C, D, H, W): see `Conv1d`."""

    axes = 3

    def forward(self, input: Tensor) -> Tensor:
        return clew.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


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
    """The transpose of `Conv1d`: see `clew.nn.functional.conv_transpose1d`. Its weight is (in, out / groups, size)."""

    axes = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`.

    >>> import clew
    >>> clew.nn.ConvTranspose2d(4, 1, 2, stride=2)(clew.ones(5, 4, 8, 8)).shape == (5, 1, 16, 16)
    True
    """

    axes = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`."""

    axes = 3
