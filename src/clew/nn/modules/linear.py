"""Layers that are linear in their input."""

from __future__ import annotations

import math
from typing import Any

import clew
from clew import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = [
    "Bilinear",
    "Identity",
    "Linear",
]


class Identity(Module):
    """Returns its input; takes any arguments, so that it can stand in for another layer.

    Example:
        >>> torch.nn.Identity(54, unused=True)(torch.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """`x @ weight.T + bias`: inputs (..., in_features) give (..., out_features).

    Args:
        in_features, out_features: sizes of the last dimension, before and after.
        bias: whether there is a bias.

    Attributes:
        weight: of shape (out_features, in_features), drawn from U(-k, k) with k = 1 / sqrt(in_features).
        bias: of shape (out_features), drawn likewise.

    Raises:
        RuntimeError: in a call, sizes or dtypes do not fit.

    Example:
        >>> torch.nn.Linear(3, 2)(torch.ones(5, 3)).shape == (5, 2)
        True
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(clew.empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(clew.empty(out_features, device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        # With a = sqrt(5) the bound is 1 / sqrt(in_features).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return clew.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` of the name that PyTorch gives it here."""


class Bilinear(Module):
    """`out_k = sum over i and j of x1_i * weight_kij * x2_j + bias_k`: see `clew.nn.functional.bilinear`.

    Args:
        in1_features, in2_features: sizes of the last dimensions of the two inputs.
        out_features: size of the last dimension of the result.

    Attributes:
        weight: of shape (out_features, in1_features, in2_features), drawn from U(-k, k) with
            k = 1 / sqrt(in1_features).
        bias: of shape (out_features), drawn likewise.

    Raises:
        ValueError: `in1_features` is not positive.

    Example:
        >>> torch.nn.Bilinear(3, 4, 2)(torch.ones(5, 3), torch.ones(5, 4)).shape == (5, 2)
        True
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(clew.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(clew.empty(out_features, device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
