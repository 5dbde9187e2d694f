"""Activation functions: each works elementwise and gives a tensor of the input's shape, unless it says otherwise."""

from __future__ import annotations

import warnings
from typing import Any

import clew
from clew import Tensor

from .variant import variant


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(0, x)`.

    >>> import clew
    >>> clew.nn.functional.relu(clew.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else clew.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(0, x), 6)`."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` limited to `[min_val, max_val]`."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: expected min_val <= max_val, got {min_val} and {max_val}; swap them")
    return input.clamp_(min_val, max_val) if inplace else input.clamp(min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` where positive, else `negative_slope * x`."""
    return variant("leaky_relu", inplace)(input, negative_slope)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` where positive, else `weight * x`; one weight, or one for each channel (dimension 1)."""
    if weight.numel() != 1:
        channels = input.shape[1] if input.dim() > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(f"prelu: expected 1 or {channels} weights (one a channel), got {weight.numel()}")
        weight = weight.view([-1 if dim == 1 else 1 for dim in range(input.dim())])
    return clew.where(input > 0, input, weight * input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where positive, else `alpha * (exp(x) - 1)`."""
    return variant("elu", inplace)(input, alpha)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` where positive, else `alpha * (exp(x / alpha) - 1)`."""
    return clew.elu(input / alpha) * alpha


def selu(input: Tensor) -> Tensor:
    """Self-normalising `elu` (Klambauer et al., https://arxiv.org/abs/1706.02515)."""
    return clew.elu(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x` times the normal distribution function of `x`; `approximate="tanh"` is the usual approximation."""
    return clew.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`."""
    return variant("silu", inplace)(input)


def mish(input: Tensor) -> Tensor:
    """`x * tanh(softplus(x))`."""
    return input * clew.tanh(clew.softplus(input))


def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return clew.sigmoid(input)


def logsigmoid(input: Tensor) -> Tensor:
    """`log(sigmoid(x))`, exact where that would be `log(0)`."""
    return clew.logsigmoid(input)


def hardsigmoid(input: Tensor) -> Tensor:
    """`x / 6 + 1 / 2`, limited to `[0, 1]`."""
    return (input + 3).clamp(0, 6) / 6


def hardswish(input: Tensor) -> Tensor:
    """`x * hardsigmoid(x)`."""
    return input * hardsigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return clew.tanh(input)


def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`."""
    return input - clew.tanh(input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`."""
    return clew.softplus(input, beta, threshold)


def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    return input / (input.abs() + 1)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` where it is above `threshold`, else `value`."""
    return variant("threshold", inplace)(input, threshold, value)


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`exp(x)` divided by its sum over `dim`.

    >>> import clew
    >>> clew.nn.functional.softmax(clew.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return clew.softmax(input, _dim_or_guess(input, dim), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`softmax(-x)`."""
    return clew.softmax(-input, _dim_or_guess(input, dim), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`log(softmax(x))`, exact where that would be `log(0)`."""
    return clew.log_softmax(input, _dim_or_guess(input, dim), dtype=dtype)


def _dim_or_guess(input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Halve the input along `dim`: the first half times the sigmoid of the second."""
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(f"glu: expected an even size in dimension {dim}, got {size}")
    first, second = input.split(size // 2, dim)
    return first * clew.sigmoid(second)
