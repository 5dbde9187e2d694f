"""Dropout."""

from __future__ import annotations

from typing import ClassVar

from clew import Tensor

from .. import functional as F
from ..functional.layer import check_probability
from .module import Module

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
]


class _DropoutNd(Module):
    """What all dropouts share; `function` is the name of what they call."""

    function: ClassVar[str]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(F, self.function)(input, self.p, self.training, self.inplace)
        return result

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training mode, sets each element to zero with probability `p` and scales the others by `1 / (1 - p)`.

    In evaluation mode it gives its input back.

    Example:
        >>> torch.nn.Dropout(0.5).eval()(torch.ones(3))
        tensor([1., 1., 1.])
    """

    function = "dropout"


class Dropout1d(_DropoutNd):
    """Drops whole channels of sequences (N, C, L) or (C, L): see `clew.nn.functional.dropout1d`."""

    function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Drops whole channels of images (N, C, H, W): see `clew.nn.functional.dropout2d`."""

    function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Drops whole channels of volumes (N, C, D, H, W) or (C, D, H, W): see `clew.nn.functional.dropout3d`."""

    function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance after `SELU`: see `clew.nn.functional.alpha_dropout`."""

    function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels: see `clew.nn.functional.feature_alpha_dropout`."""

    function = "feature_alpha_dropout"
