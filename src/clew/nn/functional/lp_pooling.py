"""Pooling by p-norms: between the mean of a window and its largest element."""

from __future__ import annotations

import math
from typing import Any

import clew
from clew import Tensor
from clew._domains import domain

from .pooling import Numbers, avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d

__all__ = ["lp_pool1d", "lp_pool2d", "lp_pool3d"]


def _pool(
    input: Tensor, norm: float, kernel: Numbers, stride: Numbers | None, ceil: bool, pools: tuple[Any, Any], axes: int
) -> Tensor:
    mean, largest = pools
    sizes = [kernel] * axes if isinstance(kernel, int) else list(kernel)
    if axes > 1 and len(sizes) != axes:
        raise ValueError(f"lp_pool{axes}d: expected a kernel_size of {axes} numbers, or one for all, got {kernel}")
    if math.isinf(norm):
        size = input.abs()
        extreme: Tensor = largest(size if norm > 0 else -size, kernel, stride, 0, 1, ceil)
        return extreme if norm > 0 else -extreme
    means = mean(input.pow(norm), kernel, stride, 0, ceil)
    positive: Tensor = clew.sign(means) * clew.relu(means.abs()) * math.prod(sizes)
    return positive.pow(1.0 / norm)


@domain(
    "input=positive(a, b, 5), norm_type=2.0, kernel_size=2; "
    "input=distinct(a, b, 5), norm_type=float('inf'), kernel_size=2"
)
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Numbers, stride: Numbers | None = None, ceil_mode: bool = False
) -> Tensor:
    """`(sum of x ** norm_type) ** (1 / norm_type)` over each window of (N, C, L) or (C, L).

    Args:
        norm_type: the power, which may be infinite: the maximum of `|x|`.
        kernel_size, stride, ceil_mode: as for `avg_pool1d`.

    Raises:
        RuntimeError: sizes do not fit.

    Example:
        >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 5.0, 12.0]]), 2.0, 2)
        tensor([[ 5., 13.]])
    """
    return _pool(input, norm_type, kernel_size, stride, ceil_mode, (avg_pool1d, max_pool1d), 1)


@domain("input=positive(1, a, 5, 4), norm_type=2.0, kernel_size=2")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Numbers, stride: Numbers | None = None, ceil_mode: bool = False
) -> Tensor:
    """`lp_pool1d` for images (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: `kernel_size` is not one number or two.
        RuntimeError: sizes do not fit.

    Example:
        >>> torch.nn.functional.lp_pool2d(torch.tensor([[[1.0, 1.0], [1.0, 1.0]]]), 2.0, 2)
        tensor([[[2.]]])
    """
    return _pool(input, norm_type, kernel_size, stride, ceil_mode, (avg_pool2d, max_pool2d), 2)


@domain("input=positive(1, 2, 4, 3, 2), norm_type=3.0, kernel_size=2")
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Numbers, stride: Numbers | None = None, ceil_mode: bool = False
) -> Tensor:
    """`lp_pool1d` for volumes (N, C, D, H, W) or (C, D, H, W).

    Raises:
        ValueError: `kernel_size` is not one number or three.
        RuntimeError: sizes do not fit.

    Example:
        >>> torch.nn.functional.lp_pool3d(torch.ones(1, 2, 2, 2), 3.0, 2)
        tensor([[[[2.]]]])
    """
    return _pool(input, norm_type, kernel_size, stride, ceil_mode, (avg_pool3d, max_pool3d), 3)
