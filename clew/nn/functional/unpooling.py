"""Putting what a max pooling found back to where it was."""

from __future__ import annotations

import math
from collections.abc import Sequence

from clew import Tensor
from clew._domains import domain

from .pooling import Numbers

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _each(value: Numbers, axes: int) -> list[int]:
    return [value] * axes if isinstance(value, int) else list(value)


def _unpool(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None,
    padding: Numbers,
    output_size: Sequence[int] | None,
    axes: int,
) -> Tensor:
    name = f"max_unpool{axes}d"
    if input.dim() not in (axes + 1, axes + 2) or input.shape != indices.shape:
        raise RuntimeError(
            f"{name}: expected input of {axes + 1} or {axes + 2} dimensions and indices of its shape, got "
            f"{tuple(input.shape)} and {tuple(indices.shape)}"
        )
    kernel, pad = _each(kernel_size, axes), _each(padding, axes)
    steps = kernel if stride is None else _each(stride, axes)
    space = list(input.shape[-axes:])
    sizes = [(n - 1) * step + size - 2 * p for n, step, size, p in zip(space, steps, kernel, pad, strict=True)]
    if output_size is not None:
        wanted = list(output_size)[-axes:]
        if len(output_size) not in (axes, axes + 2) or any(
            not abs(size - own) < step for size, own, step in zip(wanted, sizes, steps, strict=True)
        ):
            raise ValueError(
                f"{name}: expected output_size to be near {sizes}, by less than a stride, got {output_size}"
            )
        sizes = wanted
    lead = input.shape[:-axes]
    total = math.prod(sizes)
    if indices.numel() and not 0 <= int(indices.min()) <= int(indices.max()) < total:
        raise RuntimeError(f"{name}: found an invalid max index: expected indices below {total}, the output's elements")
    zeros = input.new_zeros((*lead, total))
    return zeros.scatter(-1, indices.flatten(-axes), input.flatten(-axes)).view((*lead, *sizes))


@domain("input=real(1, 1, 2), indices=order(4, 2).reshape(1, 1, 2), kernel_size=2")
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The partial inverse of `max_pool1d`: what it found at the `indices` that it gave, zeros elsewhere.

    Args:
        input, indices: of shape (N, C, L) or (C, L), as `max_pool1d(..., return_indices=True)` gives them.
        kernel_size, stride, padding: of the pooling.
        output_size: the size before, which a stride leaves open.

    Raises:
        ValueError: an `output_size` that the pooling cannot have come from.
        RuntimeError: shapes do not fit.

    >>> import clew
    >>> values, places = clew.nn.functional.max_pool1d(clew.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> clew.nn.functional.max_unpool1d(values, places, 2)
    tensor([[0., 3., 2., 0.]])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 1)


@domain("input=real(1, 1, 1, 2), indices=order(8, 2).reshape(1, 1, 1, 2), kernel_size=2")
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """`max_unpool1d` for images (N, C, H, W) or (C, H, W)."""
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 2)


@domain("input=real(1, 1, 1, 1, 2), indices=order(16, 2).reshape(1, 1, 1, 1, 2), kernel_size=2")
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """`max_unpool1d` for volumes (N, C, D, H, W) or (C, D, H, W)."""
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 3)
