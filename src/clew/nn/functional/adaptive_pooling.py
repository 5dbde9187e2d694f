"""Pooling into a given number of windows, as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import Tensor, _core
from clew._domains import domain

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
]

Sizes = int | Sequence[int | None]  # None keeps the size of an axis

_ops: Any = _core.ops


def _sizes(input: Tensor, output_size: Sizes, axes: int) -> list[int]:
    if isinstance(output_size, int):
        return [output_size] * axes
    given = list(output_size)
    if axes > 1 and input.dim() <= len(given):
        raise ValueError(
            f"output_size: Input dimension should be at least {len(given) + 1}, got an input of shape "
            f"{list(input.shape)}; add an axis of channels"
        )
    if axes == 1 and None in given:
        raise TypeError("output_size: expected an integer, got None; give the size of the axis")
    if len(given) != axes:
        raise RuntimeError(f"output_size: expected a number or {axes} of them, got {output_size}")
    if None not in given:
        return [size for size in given if size is not None]
    return [own if size is None else size for size, own in zip(given, input.shape[-axes:], strict=True)]


def _adaptive_mean(input: Tensor, sizes: list[int], pool: Any) -> Tensor:
    axes = len(sizes)
    if sizes == [1] * axes and (axes > 1 or input.dim() in (2, 3)):
        return input.mean(tuple(range(-axes, 0)), keepdim=True)
    result: Tensor = pool(input, sizes)
    return result


@domain("input=real(a, b, 5), output_size=2; input=real(a, b, 5), output_size=1")
def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """The means of `output_size` windows that cover the input (N, C, L) or (C, L).

    Window i reaches from `floor(i * L / output_size)` to `ceil((i + 1) * L / output_size)`.

    Raises:
        RuntimeError: sizes do not fit.

    Example:
        >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[1.5000, 2.5000]])
    """
    return _adaptive_mean(input, _sizes(input, output_size, 1), _ops.adaptive_avg_pool1d)


@domain("input=distinct(a, b, 5), output_size=2")
def adaptive_max_pool1d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The largest of `output_size` windows, as for `adaptive_avg_pool1d`, over the input (N, C, L) or (C, L).

    With `return_indices`, also where in its plane each was found (int64).

    Example:
        >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 2.0, 3.0]]), 2)
        tensor([[2., 3.]])
    """
    both = _ops.adaptive_max_pool1d(input, _sizes(input, output_size, 1))
    return both if return_indices else both[0]


@domain("input=real(1, a, 5, 4), output_size=2; input=real(1, a, 5, 4), output_size=1")
def adaptive_avg_pool2d(input: Tensor, output_size: Sizes) -> Tensor:
    """The means of `output_size` windows that cover the input (N, C, H, W) or (C, H, W), as in `adaptive_avg_pool1d`.

    Args:
        output_size: (height, width), or one number for both; None keeps the size of the input.

    Raises:
        ValueError, RuntimeError: sizes do not fit.

    Example:
        >>> torch.nn.functional.adaptive_avg_pool2d(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), (1, None))
        tensor([[[1.5000, 1.5000]]])
    """
    return _adaptive_mean(input, _sizes(input, output_size, 2), _ops.adaptive_avg_pool2d)


@domain("input=distinct(1, a, 5, 4), output_size=2")
def adaptive_max_pool2d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The largest of `output_size` windows over the input (N, C, H, W) or (C, H, W), as in `adaptive_avg_pool2d`.

    With `return_indices`, also where in its plane each was found (int64).

    Example:
        >>> torch.nn.functional.adaptive_max_pool2d(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), (1, None))
        tensor([[[2., 3.]]])
    """
    both = _ops.adaptive_max_pool2d(input, _sizes(input, output_size, 2))
    return both if return_indices else both[0]


@domain("input=real(1, 2, 4, 3, 2), output_size=2; input=real(1, 2, 4, 3, 2), output_size=1")
def adaptive_avg_pool3d(input: Tensor, output_size: Sizes) -> Tensor:
    """The means of `output_size` windows that cover the input (N, C, D, H, W) or (C, D, H, W).

    See `adaptive_avg_pool2d`.

    Example:
        >>> torch.nn.functional.adaptive_avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])
    """
    return _adaptive_mean(input, _sizes(input, output_size, 3), _ops.adaptive_avg_pool3d)


@domain("input=distinct(1, 2, 4, 3, 2), output_size=2")
def adaptive_max_pool3d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The largest of `output_size` windows over the input (N, C, D, H, W) or (C, D, H, W).

    See `adaptive_max_pool2d`.

    Example:
        >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1)
        tensor([[[[7.]]]])
    """
    both = _ops.adaptive_max_pool3d(input, _sizes(input, output_size, 3))
    return both if return_indices else both[0]
