"""What convolutions as layers share."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, cast

import clew

from .. import init
from ..parameter import Parameter
from .module import Module

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")

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
