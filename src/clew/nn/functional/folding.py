"""Images as columns of their windows, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from clew import Tensor
from clew._domains import domain
from clew.ops.ranges import arange

from .padding import pad

__all__ = ["fold", "unfold"]

Numbers = int | Sequence[int]  # one for each axis of space, or one for both


def _pair(name: str, argument: str, value: Numbers, least: int) -> tuple[int, int]:
    both = (value, value) if isinstance(value, int) else tuple(value)
    if len(both) != 2 or min(both) < least:
        raise RuntimeError(f"{name}: expected {argument} to be a number of at least {least}, or two, got {value}")
    return both[0], both[1]


class _Windows:
    """Where windows lie in a padded image: `index` has, window by window for each place in one, a flat position."""

    def __init__(self, name: str, sizes: Sequence[int], options: tuple[Numbers, ...]) -> None:
        kernel_size, dilation, padding, stride = options
        self.kernel = _pair(name, "kernel_size", kernel_size, 1)
        self.padding = _pair(name, "padding", padding, 0)
        dilations, steps = _pair(name, "dilation", dilation, 1), _pair(name, "stride", stride, 1)
        self.padded = [size + 2 * pad for size, pad in zip(sizes, self.padding, strict=True)]
        reach = [dilated * (size - 1) + 1 for size, dilated in zip(self.kernel, dilations, strict=True)]
        self.counts = [(size - r) // step + 1 for size, r, step in zip(self.padded, reach, steps, strict=True)]
        if min(self.counts) < 1:
            raise RuntimeError(
                f"{name}: expected windows that fit into the image of {list(sizes)} with padding {self.padding}, got "
                f"kernel_size {self.kernel} and dilation {dilations}"
            )
        self.blocks = math.prod(self.counts)
        places = [
            arange(size, device="cpu").unsqueeze(1) * dilated + arange(count, device="cpu") * step
            for size, dilated, count, step in zip(self.kernel, dilations, self.counts, steps, strict=True)
        ]
        flat = places[0][:, None, :, None] * self.padded[1] + places[1][None, :, None, :]
        self.index: Tensor = flat.reshape(-1)


@domain("input=real(a, b, c, d), kernel_size=2; input=real(b, c, d), kernel_size=(2, 3), dilation=(1, 2), padding=2, "
        "stride=(2, 1)")  # fmt: skip
def unfold(
    input: Tensor, kernel_size: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1
) -> Tensor:
    """The windows of images as columns.

    Args:
        input: shape (N, C, H, W) or (C, H, W).
        kernel_size, dilation, padding, stride: as of a convolution; one number, or one for each axis.

    Returns:
        Shape (N, C * kernel_height * kernel_width, number of windows), or without N.

    Raises:
        RuntimeError: no window fits.

    Example:
        >>> torch.nn.functional.unfold(torch.arange(4.0).reshape(1, 1, 2, 2), (1, 2))
        tensor([[[0., 2.],
                 [1., 3.]]])
    """
    if input.dim() not in (3, 4):
        raise RuntimeError(f"unfold: Expected 3D or 4D (batch mode) tensor for input, got shape {list(input.shape)}")
    windows = _Windows("unfold", input.shape[-2:], (kernel_size, dilation, padding, stride))
    rows, columns = windows.padding
    taken: Tensor = pad(input, [columns, columns, rows, rows]).flatten(-2).index_select(-1, windows.index)
    return taken.reshape(*input.shape[:-3], input.shape[-3] * math.prod(windows.kernel), windows.blocks)


@domain("input=real(a, 8, 12), output_size=(4, 5), kernel_size=2; input=real(12, 9), output_size=(4, 5), "
        "kernel_size=(2, 3), dilation=(1, 2), padding=1, stride=(2, 1)")  # fmt: skip
def fold(
    input: Tensor,
    output_size: Numbers,
    kernel_size: Numbers,
    dilation: Numbers = 1,
    padding: Numbers = 0,
    stride: Numbers = 1,
) -> Tensor:
    """Images from columns of windows, whose values are summed where windows overlap.

    Args:
        input: shape (N, C * kernel_height * kernel_width, number of windows), or without N.
        output_size: height and width of the images.
        kernel_size, dilation, padding, stride: as for `unfold`.

    Returns:
        Shape (N, C, height, width), or without N.

    Raises:
        RuntimeError: the columns are not those of such windows.

    Example:
        >>> torch.nn.functional.fold(torch.ones(1, 2, 2), (1, 3), (1, 2))
        tensor([[[[1., 2., 1.]]]])
    """
    sizes = _pair("fold", "output_size", output_size, 1)
    windows = _Windows("fold", sizes, (kernel_size, dilation, padding, stride))
    area = math.prod(windows.kernel)
    if input.dim() not in (2, 3) or input.shape[-2] % area or input.shape[-1] != windows.blocks:
        raise RuntimeError(
            f"fold: expected input of shape (N, C * {area}, {windows.blocks}) or (C * {area}, {windows.blocks}), got "
            f"{list(input.shape)}"
        )
    channels = (*input.shape[:-2], input.shape[-2] // area)
    values = input.reshape(*channels, windows.index.shape[0])
    padded = values.new_zeros(*channels, math.prod(windows.padded)).index_add(-1, windows.index, values)
    image: Tensor = padded.reshape(*channels, *windows.padded)
    for axis, (before, size) in enumerate(zip(windows.padding, sizes, strict=True), -2):
        image = image.narrow(axis, before, size)
    return image
