"""Older names of interpolate."""

from __future__ import annotations

import warnings
from typing import Any

from clew import Tensor
from clew._domains import domain

from .resampling import interpolate

__all__ = ["upsample", "upsample_bilinear", "upsample_nearest"]


def _old_name(name: str, **fixed: Any) -> None:
    shown = "".join(f", {key}={value!r}" for key, value in fixed.items())
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate(...{shown})` instead.", stacklevel=3
    )


@domain("unsampled, 'an old name of interpolate'")
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate`; deprecated.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.functional.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    _old_name("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@domain("unsampled, 'an old name of interpolate'")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate(..., mode="nearest")`; deprecated.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 2.0]]]), 4)
        tensor([[[1., 1., 2., 2.]]])
    """
    _old_name("upsample_nearest", mode="nearest")
    return interpolate(input, size, scale_factor)


@domain("unsampled, 'an old name of interpolate'")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate(..., mode="bilinear", align_corners=True)`; deprecated.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.functional.upsample_bilinear(torch.tensor([[[[1.0, 2.0]]]]), (1, 3))
        tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    _old_name("upsample_bilinear", mode="bilinear", align_corners=True)
    return interpolate(input, size, scale_factor, "bilinear", True)
