"""Layers that only change the shape."""

from __future__ import annotations

from collections.abc import Sequence

from clew import Tensor

from .. import functional as F
from .module import Module

__all__ = [
    "Flatten",
    "Fold",
    "Unflatten",
    "Unfold",
]

Numbers = int | Sequence[int]  # one for each axis of space, or one for both


class Flatten(Module):
    """Joins the dimensions from `start_dim` to `end_dim` into one: see `clew.flatten`.

    Example:
        >>> torch.nn.Flatten()(torch.zeros(2, 3, 4)).shape == (2, 12)
        True
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits the dimension `dim` into several of the sizes `unflattened_size`, the inverse of `Flatten`.

    Raises:
        TypeError: the sizes are no tuple of integers.
        RuntimeError: in a call, their product is not the size of the dimension.

    Example:
        >>> torch.nn.Unflatten(1, (3, 4))(torch.zeros(2, 12)).shape == (2, 3, 4)
        True
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(Module):
    """The windows of images (N, C, H, W) as columns: see `clew.nn.functional.unfold`.

    Example:
        >>> torch.nn.Unfold(2)(torch.zeros(1, 3, 4, 5)).shape == (1, 12, 12)
        True
    """

    def __init__(self, kernel_size: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Images from columns of windows, summed where they overlap: see `clew.nn.functional.fold`.

    Example:
        >>> torch.nn.Fold((4, 5), 2)(torch.zeros(1, 12, 12)).shape == (1, 3, 4, 5)
        True
    """

    def __init__(
        self,
        output_size: Numbers,
        kernel_size: Numbers,
        dilation: Numbers = 1,
        padding: Numbers = 0,
        stride: Numbers = 1,
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
