"""Channel shuffle."""

from __future__ import annotations

from clew import Tensor

from .. import functional as F
from .module import Module

__all__ = [
    "ChannelShuffle",
]


class ChannelShuffle(Module):
    """The channels of (N, C, ...) as rows, read by columns: see `clew.nn.functional.channel_shuffle`."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
