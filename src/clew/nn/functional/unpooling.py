"""Putting what a max pooling found back to where it was."""

from __future__ import annotations

import math
from collections.abc import Sequence

import clew
from clew import Tensor
from clew._domains import domain
from clew.ops._options import all_lie_in

from .pooling import Numbers

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _each(value: Numbers, axes: int) -> list[int]:
    return [value] * axes if isinstance(value, int) else list(value)


def _output_size(
    input: Tensor, kernel: list[int], steps: list[int], pad: list[int], output_size: Sequence[int] | None
) -> list[int]:
    axes = len(kernel)
    space = [input.shape[axis - axes] for axis in range(axes)]
    sizes = [(space[i] - 1) * steps[i] + kernel[i] - 2 * pad[i] for i in range(axes)]
    if output_size is not None:
        wanted = list(output_size[2:] if len(output_size) == axes + 2 else output_size)
        if len(wanted) != axes or not all(abs(wanted[i] - sizes[i]) < steps[i] for i in range(axes)):
            raise ValueError(
                f"max_unpool{axes}d: expected output_size to be near {sizes}, by less than a stride, got {output_size}"
            )
        sizes = wanted
    if min(sizes) < 0:
        raise ValueError(
            f"max_unpool{axes}d: output_size must contain non-negative spatial dimensions, but got {sizes}"
        )
    return sizes


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
    kernel = _each(kernel_size, axes)
    steps = kernel if stride is None else _each(stride, axes)
    pad = _each(padding, axes)
    for what, numbers in (("stride", steps), ("padding", pad)):
        if axes == 3 and len(numbers) != 3:
            raise RuntimeError(f"{name}: expected three numbers (depth, height, width) as {what}, got {numbers}")
    sizes = _output_size(input, kernel, steps, pad, output_size)
    if axes == 3 and min(steps) <= 0:
        raise RuntimeError(f"{name}: strides should be greater than zero, but got {steps}")
    if axes == 1:
        return _put(name, input.unsqueeze(-1), indices.unsqueeze(-1), [*sizes, 1], 2).squeeze(-1)
    return _put(name, input, indices, sizes, axes)


def _put(name: str, input: Tensor, indices: Tensor, sizes: list[int], axes: int) -> Tensor:
    """Elements to where the indices say, among zeros of these sizes."""
    if indices.dtype != clew.int64:
        raise RuntimeError(f"{name}: elements in indices should be type int64 but got: {indices.dtype}; cast them")
    if len(sizes) != axes or input.dim() not in (axes + 1, axes + 2) or input.shape != indices.shape:
        raise RuntimeError(
            f"{name}: expected a channel axis and at most one of a batch, indices of the input's shape and a size for "
            f"each axis of space, got {tuple(input.shape)}, {tuple(indices.shape)} and {sizes}"
        )
    if 0 in input.shape[1:]:
        raise RuntimeError(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but got {tuple(input.shape)}"
        )
    lead, total = input.shape[:-axes], math.prod(sizes)
    if total and not all_lie_in(indices, 0, total):
        raise RuntimeError(f"{name}: found an invalid max index: expected indices below {total}, the output's elements")
    values = input.flatten(-axes)
    if not total:
        return values[..., :0].clone().view((*lead, *sizes))
    whole = input.new_zeros((*lead, total)).scatter(-1, indices.flatten(-axes), values)
    return whole.view((*lead, *sizes))


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

    Example:
        >>> x = torch.tensor([[1.0, 3.0, 2.0, 0.0]])
        >>> values, indices = torch.nn.functional.max_pool1d(x, 2, return_indices=True)
        >>> torch.nn.functional.max_unpool1d(values, indices, 2)
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
    """`max_unpool1d` for images (N, C, H, W) or (C, H, W).

    Example:
        >>> x = torch.tensor([[[1.0, 3.0], [2.0, 0.0]]])
        >>> values, indices = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        >>> torch.nn.functional.max_unpool2d(values, indices, 2)
        tensor([[[0., 3.],
                 [0., 0.]]])
    """
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
    """`max_unpool1d` for volumes (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> x = torch.tensor([[[[1.0, 3.0], [2.0, 0.0]]]])
        >>> values, indices = torch.nn.functional.max_pool3d(x, (1, 2, 2), return_indices=True)
        >>> torch.nn.functional.max_unpool3d(values, indices, (1, 2, 2))
        tensor([[[[0., 3.],
                  [0., 0.]]]])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 3)
