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
    """In training mode, sets each element to zero with probability `p` and multiplies the others by `1 / (1 - p)`.

    In evaluation mode it returns its input.

    Raises:
        ValueError: `p` is not in [0, 1].

    Example:
        >>> torch.nn.Dropout(0.5).eval()(torch.ones(3))
        tensor([1., 1., 1.])
        >>> torch.nn.Dropout(0.5)(torch.ones(100)).unique()
        tensor([0., 2.])
    """

    function = "dropout"


class Dropout1d(_DropoutNd):
    """Zeroes whole channels of sequences (N, C, L) or (C, L) with probability `p`, in training mode.

    See `clew.nn.functional.dropout1d`.

    Example:
        >>> y = torch.nn.Dropout1d(0.5)(torch.ones(2, 3, 4)).flatten(2)
        >>> bool((y == y[:, :, :1]).all())
        True
    """

    function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zeroes whole channels of images (N, C, H, W) with probability `p`, in training mode.

    See `clew.nn.functional.dropout2d`.

    Example:
        >>> y = torch.nn.Dropout2d(0.5)(torch.ones(2, 3, 4, 4)).flatten(2)
        >>> bool((y == y[:, :, :1]).all())
        True
    """

    function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zeroes whole channels of volumes (N, C, D, H, W) or (C, D, H, W) with probability `p`, in training mode.

    See `clew.nn.functional.dropout3d`.

    Example:
        >>> y = torch.nn.Dropout3d(0.5)(torch.ones(2, 3, 2, 2, 2)).flatten(2)
        >>> bool((y == y[:, :, :1]).all())
        True
    """

    function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance after `SELU`: see `clew.nn.functional.alpha_dropout`.

    Example:
        >>> torch.nn.AlphaDropout(0.5)(torch.zeros(100)).unique().numel()
        2
    """

    function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels: see `clew.nn.functional.feature_alpha_dropout`.

    Example:
        >>> y = torch.nn.FeatureAlphaDropout(0.5)(torch.zeros(2, 3, 4))
        >>> bool((y == y[:, :, :1]).all())
        True
    """

    function = "feature_alpha_dropout"
