"""Normalisation layers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import clew
from clew import Tensor

from .. import init
from ..parameter import Parameter
from .module import Module


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


class LayerNorm(ScaleAndShift):
    """Normalises the last dimensions of each sample to mean 0 and variance 1, then scales and shifts.

    Layer normalization (Ba et al., https://arxiv.org/abs/1607.06450).

    Args:
        normalized_shape: the sizes of those dimensions (a number for the last one alone).
        eps: added to the variance.
        elementwise_affine: whether there are a learned scale `weight` (ones at first) and shift `bias` (zeros).
        bias: whether there is a shift.

    >>> import clew
    >>> clew.nn.LayerNorm(2)(clew.tensor([[1.0, 3.0]]))
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
        sizes = normalized_shape if isinstance(normalized_shape, Sequence) else [operator.index(normalized_shape)]
        self.normalized_shape = tuple(sizes)
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
