"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import Tensor

from .. import functional as F
from .adaptive_pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    _PoolNd,
)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]

Numbers = int | Sequence[int]  # one for each axis of space, or one for all


class _MaxPoolNd(_PoolNd):
    """The largest of each window: see `clew.nn.functional.max_pool1d`."""

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding, self.dilation = kernel_size, padding, dilation
        self.stride = kernel_size if stride is None else stride
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class _AvgPoolNd(_PoolNd):
    """The mean of each window: see `clew.nn.functional.avg_pool2d`."""

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Any:
        options = self.ceil_mode, self.count_include_pad, self.divisor_override
        return getattr(F, self._function)(input, self.kernel_size, self.stride, self.padding, *options)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool1d(_MaxPoolNd):
    """The largest of each window of sequences (N, C, L): see `clew.nn.functional.max_pool1d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest of each window of images (N, C, H, W): see `clew.nn.functional.max_pool2d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.MaxPool2d(2)(torch.arange(4.0).reshape(1, 2, 2))
        tensor([[[3.]]])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest of each window of volumes (N, C, D, H, W): see `clew.nn.functional.max_pool3d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.MaxPool3d(2)(torch.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[7.]]]])
    """

    _function = "max_pool3d"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of sequences (N, C, L): see `clew.nn.functional.avg_pool1d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.AvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        kernel, step = _single(kernel_size), _single(kernel_size if stride is None else stride)
        super().__init__(kernel, step, _single(padding), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of images (N, C, H, W): see `clew.nn.functional.avg_pool2d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.AvgPool2d(2)(torch.arange(4.0).reshape(1, 2, 2))
        tensor([[[1.5000]]])
    """

    _function = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of volumes (N, C, D, H, W): see `clew.nn.functional.avg_pool3d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.AvgPool3d(2)(torch.arange(8.0).reshape(1, 2, 2, 2))
        tensor([[[[3.5000]]]])
    """

    _function = "avg_pool3d"


def _single(value: Numbers) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,)


class _LPPoolNd(_PoolNd):
    """The p-norm of each window."""

    def __init__(
        self, norm_type: float, kernel_size: Numbers, stride: Numbers | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of sequences (N, C, L): see `clew.nn.functional.lp_pool1d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.LPPool1d(2.0, 2)(torch.ones(1, 2))
        tensor([[1.4142]])
    """

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of images (N, C, H, W): see `clew.nn.functional.lp_pool2d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.LPPool2d(2.0, 2)(torch.ones(1, 2, 2))
        tensor([[[2.]]])
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of volumes (N, C, D, H, W): see `clew.nn.functional.lp_pool3d`.

    Arguments, result and errors as there; N may be missing.

    Example:
        >>> torch.nn.LPPool3d(2.0, 2)(torch.ones(1, 2, 2, 2))
        tensor([[[[2.8284]]]])
    """

    _function = "lp_pool3d"
