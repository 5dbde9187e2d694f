"""Pooling, as functions: the largest or the mean of windows that slide over sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import Tensor, _core
from clew._domains import domain

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
]

Numbers = int | Sequence[int]  # one for each axis of space, or one for all

_ops: Any = _core.ops


@domain("input=distinct(a, b, 5), kernel_size=2; input=distinct(a, b, 5), kernel_size=2, stride=1, return_indices=True")
def max_pool1d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest of each window; the gradient goes to where it was found, the first of equal ones.

    Args:
        input: of shape (N, C, L) or (C, L), floating.
        kernel_size: the window's size.
        stride: the step from one window to the next; None means the window's size.
        padding: places before and after that are never the largest, at most half of the window.
        dilation: the distance between the elements of a window.
        ceil_mode: whether a last window may hang over the end.
        return_indices: whether to give also where in its plane each result was found (int64).

    Returns:
        Of shape (N, C, L') or (C, L') with `L' = floor((L + 2 * padding - dilation * (size - 1) - 1) / stride) + 1`,
        rounded up with `ceil_mode`. The indices are saved.

    Raises:
        RuntimeError: sizes do not fit.

    Example:
        >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[3., 2.]])
    """
    both = max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


@domain("input=distinct(a, b, 5), kernel_size=2, ceil_mode=True")
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """What `max_pool1d` gives, and where in its plane each result was found.

    Example:
        >>> torch.nn.functional.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    del return_indices
    values, indices = _ops.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return values, indices


@domain(
    "input=distinct(1, a, 5, 4), kernel_size=2; "
    "input=distinct(1, a, 5, 4), kernel_size=2, stride=1, return_indices=True"
)
def max_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool1d` for input (N, C, H, W) or (C, H, W).

    Example:
        >>> torch.nn.functional.max_pool2d(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
        tensor([[[3.]]])
    """
    both = max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


@domain("input=distinct(1, a, 5, 4), kernel_size=2, ceil_mode=True")
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """What `max_pool2d` gives, and where in its plane each result was found.

    Example:
        >>> torch.nn.functional.max_pool2d_with_indices(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
        (tensor([[[3.]]]), tensor([[[1]]]))
    """
    del return_indices
    values, indices = _ops.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return values, indices


@domain(
    "input=distinct(1, 2, 4, 3, 2), kernel_size=2; "
    "input=distinct(1, 2, 4, 3, 2), kernel_size=2, stride=1, return_indices=True"
)
def max_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool1d` for input (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> torch.nn.functional.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    both = max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return both if return_indices else both[0]


@domain("input=distinct(1, 2, 4, 3, 2), kernel_size=2, ceil_mode=True")
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """What `max_pool3d` gives, and where in its plane each result was found.

    Example:
        >>> torch.nn.functional.max_pool3d_with_indices(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    del return_indices
    values, indices = _ops.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return values, indices


@domain("input=real(a, b, 5), kernel_size=2; input=real(a, b, 5), kernel_size=2, padding=1, count_include_pad=False")
def avg_pool1d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window.

    Args:
        input: of shape (N, C, L) or (C, L), floating.
        kernel_size: the window's size.
        stride: the step from one window to the next; None means the window's size.
        padding: zeros before and after, at most half of the window.
        ceil_mode: whether a last window may hang over the end.
        count_include_pad: whether the mean counts the zeros of the padding.

    Returns:
        Of shape (N, C, L') or (C, L') with `L' = floor((L + 2 * padding - size) / stride) + 1`, rounded up with
        `ceil_mode`. Nothing is saved but sizes.

    Raises:
        RuntimeError: sizes do not fit.

    Example:
        >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[2., 1.]])
    """
    result: Tensor = _ops.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)
    return result


@domain(
    "input=real(1, a, 5, 4), kernel_size=2; input=real(1, a, 5, 4), kernel_size=2, padding=1, count_include_pad=False"
)
def avg_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """`avg_pool1d` for input (N, C, H, W) or (C, H, W); `divisor_override` takes the place of the count.

    Example:
        >>> torch.nn.functional.avg_pool2d(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
        tensor([[[1.5000]]])
    """
    result: Tensor = _ops.avg_pool2d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return result


@domain(
    "input=real(1, 2, 4, 3, 2), kernel_size=2; "
    "input=real(1, 2, 4, 3, 2), kernel_size=2, padding=1, count_include_pad=False"
)
def avg_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """`avg_pool1d` for input (N, C, D, H, W) or (C, D, H, W); `divisor_override` takes the place of the count.

    Example:
        >>> torch.nn.functional.avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
    result: Tensor = _ops.avg_pool3d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return result
