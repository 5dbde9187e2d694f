"""Layers that move elements between channels and space."""

from __future__ import annotations

from clew import Tensor

from .. import functional as F
from .module import Module

__all__ = [
    "PixelShuffle",
    "PixelUnshuffle",
]


class PixelShuffle(Module):
    """Reshapes (..., C * r * r, H, W) to (..., C, H * r, W * r): see `clew.nn.functional.pixel_shuffle`.

    Example:
        >>> torch.nn.PixelShuffle(2)(torch.arange(4.0).reshape(4, 1, 1))
        tensor([[[0., 1.],
                 [2., 3.]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Reshapes (..., C, H * r, W * r) to (..., C * r * r, H, W): see `clew.nn.functional.pixel_unshuffle`.

    Example:
        >>> torch.nn.PixelUnshuffle(2)(torch.arange(4.0).reshape(1, 2, 2)).flatten()
        tensor([0., 1., 2., 3.])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
