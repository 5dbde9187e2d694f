"""Normalisation layers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import clew
from clew import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = [
    "CrossMapLRN2d",
    "GroupNorm",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
]


class ScaleAndShift(Module):
    """What all normalisation layers have: a learned scale and shift, or none."""

    weight: Parameter | None
    bias: Parameter | None

    def _make_parameters(self, shape: int | tuple[int, ...], affine: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted in [("weight", affine), ("bias", affine and bias)]:
            data = clew.empty(shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if data is None else Parameter(data))

    def reset_parameters(self) -> None:
        """Scale by one, shift by zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


def _shape_of(name: str, sizes: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(sizes, str | bytes | bytearray):  # sequences, too, and bytes are numbers
        raise TypeError(f"{name}: expected normalized_shape to be a size or a sequence of sizes, got {sizes!r}")
    return tuple(sizes) if isinstance(sizes, Sequence) else (operator.index(sizes),)


class LayerNorm(ScaleAndShift):
    """Normalises the last dimensions of each sample to mean 0 and variance 1, then scales and shifts.

    Layer normalization (Ba et al., https://arxiv.org/abs/1607.06450).

    Args:
        normalized_shape: the sizes of those dimensions (a number for the last one alone).
        eps: added to the variance.
        elementwise_affine: whether there are a learned scale `weight` (ones at first) and shift `bias` (zeros).
        bias: whether there is a shift.

    Example:
        >>> torch.nn.LayerNorm(2)(torch.tensor([[1.0, 3.0]]))
        tensor([[-1.0000,  1.0000]], grad_fn=<NativeLayerNormBackward0>)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of("LayerNorm", normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return clew.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(ScaleAndShift):
    """Normalises groups of channels of each sample: see `clew.nn.functional.group_norm`.

    Args:
        num_groups, num_channels: the first divides the second.
        eps: added to the variance.
        affine: whether there are a learned scale `weight` (ones at first) and shift `bias` (zeros) of each channel.
        bias: whether there is a shift.

    Raises:
        ValueError: the groups do not divide the channels.

    Example:
        >>> torch.nn.GroupNorm(2, 4)(torch.ones(3, 4, 5)).shape == (3, 4, 5)
        True
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make_parameters(num_channels, affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides the last dimensions of each sample by their root mean square, then scales.

    Root mean square layer normalization (Zhang and Sennrich, https://arxiv.org/abs/1910.07467).

    Args:
        normalized_shape: the sizes of those dimensions (a number for the last one alone).
        eps: added to the mean square; None means the dtype's `finfo(...).eps`.
        elementwise_affine: whether there is a learned scale `weight` (ones at first).

    Example:
        >>> torch.nn.RMSNorm(2, elementwise_affine=False)(torch.tensor([[1.0, 7.0]]))
        tensor([[0.2000, 1.4000]])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of("RMSNorm", normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        scale = clew.empty(self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if scale is None else Parameter(scale))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale by one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """Divides each element by a mean over neighbouring channels: see `clew.nn.functional.local_response_norm`.

    Example:
        >>> torch.nn.LocalResponseNorm(3, alpha=3.0, beta=1.0)(torch.ones(1, 3, 1)).flatten()
        tensor([0.3333, 0.2500, 0.3333])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """Divides each element of images by a power of a sum over the channels around it, as Caffe and Torch7 did.

    As in PyTorch the first channel stays in all sums that come after it.

    Raises:
        ValueError: in a call, the input has not four dimensions.

    Example:
        >>> torch.nn.CrossMapLRN2d(3, alpha=3.0, beta=1.0)(torch.ones(1, 3, 1, 1)).flatten()
        tensor([0.3333, 0.2500, 0.2500])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        side = int((self.size - 1) / 2)  # channels on each side
        squares = input * input
        sums = F.pad(squares, (0, 0, 0, 0, side, side)).unfold(1, 2 * side + 1, 1).sum(-1)
        if input.shape[1] > side + 1:
            first = squares[:, :1].expand(-1, input.shape[1] - side - 1, -1, -1)
            sums = sums + F.pad(first, (0, 0, 0, 0, side + 1, 0))
        return input * (sums * (self.alpha / self.size) + self.k) ** -self.beta
