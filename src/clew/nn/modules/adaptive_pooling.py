"""Pooling layers that give as many windows as asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from clew import Tensor

from .. import functional as F
from .module import Module

Sizes = int | Sequence[int | None] | None


class _PoolNd(Module):
    _function: ClassVar[str]  # of nn.functional


class _AdaptivePoolNd(_PoolNd):
    """As many windows as asked for, which cover the input."""

    def __init__(self, output_size: Sizes) -> None:
        super().__init__()
        self.output_size: Any = output_size

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    def __init__(self, output_size: Sizes, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptivePoolNd):
    """The means of `output_size` windows that cover sequences (N, C, L).

    See `clew.nn.functional.adaptive_avg_pool1d`.

    Example:
        >>> torch.nn.AdaptiveAvgPool1d(1)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[1.5000]])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest of each of `output_size` windows that cover sequences (N, C, L).

    See `clew.nn.functional.adaptive_max_pool1d`.

    Example:
        >>> torch.nn.AdaptiveMaxPool1d(1)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3.]])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveAvgPool2d(_AdaptivePoolNd):
    """The means of `output_size` windows that cover images (N, C, H, W).

    See `clew.nn.functional.adaptive_avg_pool2d`.

    Example:
        >>> torch.nn.AdaptiveAvgPool2d(1)(torch.arange(4.0).reshape(1, 2, 2))
        tensor([[[1.5000]]])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest of each of `output_size` windows that cover images (N, C, H, W).

    See `clew.nn.functional.adaptive_max_pool2d`.

    Example:
        >>> torch.nn.AdaptiveMaxPool2d(1)(torch.arange(4.0).reshape(1, 2, 2))
        tensor([[[3.]]])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveAvgPool3d(_AdaptivePoolNd):
    """The means of `output_size` windows that cover volumes (N, C, D, H, W).

    See `clew.nn.functional.adaptive_avg_pool3d`.

    Example:
        >>> torch.nn.AdaptiveAvgPool3d(1)(torch.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[3.5000]]]])
    """

    _function = "adaptive_avg_pool3d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest of each of `output_size` windows that cover volumes (N, C, D, H, W).

    See `clew.nn.functional.adaptive_max_pool3d`.

    Example:
        >>> torch.nn.AdaptiveMaxPool3d(1)(torch.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[7.]]]])
    """

    _function = "adaptive_max_pool3d"
