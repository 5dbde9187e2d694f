"""Moving elements between channels and space."""

from __future__ import annotations

import math

import clew
from clew import Tensor
from clew._domains import domain

__all__ = [
    "channel_shuffle",
    "native_channel_shuffle",
    "pixel_shuffle",
    "pixel_unshuffle",
]


def _copied(x: Tensor) -> Tensor:
    return x.clone(memory_format=clew.contiguous_format)


@domain("input=real(1, 8, 2, 3), upscale_factor=2")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) as (..., C, H * r, W * r) (Shi et al., https://arxiv.org/abs/1609.05158).

    Raises:
        RuntimeError: fewer than three dimensions, or channels that r * r does not divide.

    Example:
        >>> torch.nn.functional.pixel_shuffle(torch.arange(4.0).reshape(4, 1, 1), 2)
        tensor([[[0., 1.],
                 [2., 3.]]])
    """
    r = upscale_factor
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    blocks = input.reshape(math.prod(batch), channels // (r * r), r, r, height, width).permute(0, 1, 4, 2, 5, 3)
    return _copied(blocks).view(*batch, channels // (r * r), height * r, width * r)


@domain("input=real(1, 2, 4, 6), downscale_factor=2")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`: (..., C, H * r, W * r) as (..., C * r * r, H, W).

    Raises:
        RuntimeError: fewer than three dimensions, or height or width that r does not divide.

    Example:
        >>> torch.nn.functional.pixel_unshuffle(torch.tensor([[[0.0, 1.0], [2.0, 3.0]]]), 2).flatten()
        tensor([0., 1., 2., 3.])
    """
    r = downscale_factor
    if input.dim() < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, channels, height, width = input.shape
    if height % r or width % r:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but {height} and {width} "
            f"are not both divisible by {r}"
        )
    blocks = input.reshape(math.prod(batch), channels, height // r, r, width // r, r).permute(0, 1, 3, 5, 2, 4)
    return _copied(blocks).view(*batch, channels * r * r, height // r, width // r)


@domain("input=real(1, 4, 2, 3), groups=2")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, ...) as `groups` rows, read by columns (Zhang et al., https://arxiv.org/abs/1707.01083).

    Raises:
        RuntimeError: fewer than three dimensions, or groups that do not divide the channels.

    Example:
        >>> torch.nn.functional.channel_shuffle(torch.arange(4.0).reshape(1, 4, 1), 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    if input.dim() <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    batch, channels, *space = input.shape
    if groups <= 0 or channels % groups:
        raise RuntimeError(
            f"channel_shuffle: Number of groups must be positive and divide the channels, got {groups} for {channels}"
        )
    if not input.numel():
        return input.view(input.shape)
    rows = input.reshape(batch, groups, channels // groups, math.prod(space))
    return _copied(rows.permute(0, 2, 1, 3)).view(batch, channels, *space)


native_channel_shuffle = channel_shuffle
