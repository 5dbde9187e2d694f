"""Activation functions: each works elementwise and gives a tensor of the input's shape, unless it says otherwise."""

from __future__ import annotations

import warnings
from typing import Any

import clew
from clew import Tensor
from clew._domains import domain

from .variant import variant

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


@domain("nonzero")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(0, x)`.

    Example:
        >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return input.relu_() if inplace else clew.relu(input)


@domain("nonzero")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(0, x), 6)`."""
    return hardtanh(input, 0.0, 6.0, inplace)


@domain("nonzero; nonzero, min_val=-2.0, max_val=0.5")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` limited to `[min_val, max_val]`."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: expected min_val <= max_val, got {min_val} and {max_val}; swap them")
    return variant("hardtanh", inplace)(input, min_val, max_val)


@domain("nonzero; nonzero, negative_slope=0.3")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` where positive, else `negative_slope * x`."""
    return variant("leaky_relu", inplace)(input, negative_slope)


@domain("input=nonzero(a, b), weight=positive(b); input=nonzero(b), weight=positive(1)")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` where positive, else `weight * x`; one weight, or one for each channel (dimension 1)."""
    return clew.prelu(input, weight)


@domain("nonzero; nonzero, alpha=1.5")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where positive, else `alpha * (exp(x) - 1)`."""
    return variant("elu", inplace)(input, alpha)


@domain("nonzero; nonzero, alpha=1.5")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where positive, else `alpha * (exp(x / alpha) - 1)`."""
    return variant("celu", inplace)(input, alpha)


@domain("nonzero")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Self-normalising `elu` (Klambauer et al., https://arxiv.org/abs/1706.02515)."""
    return variant("elu", inplace)(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@domain("real; real, approximate='tanh'")
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """`x` times the normal distribution function of `x`; `approximate="tanh"` is the usual approximation."""
    if approximate == "none":  # as nearly always; handing on a name would take as long as the rest
        return clew.gelu(input)
    return clew.gelu(input, approximate=approximate)


@domain("real")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`."""
    return variant("silu", inplace)(input)


@domain("real")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))`."""
    return variant("mish", inplace)(input)


@domain("real")
def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return clew.sigmoid(input)


@domain("real")
def logsigmoid(input: Tensor) -> Tensor:
    """`log(sigmoid(x))`, exact where that would be `log(0)`."""
    return clew.logsigmoid(input)


@domain("nonzero")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`x / 6 + 1 / 2`, limited to `[0, 1]`."""
    return variant("hardsigmoid", inplace)(input)


@domain("nonzero")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * hardsigmoid(x)`."""
    return variant("hardswish", inplace)(input)


@domain("real")
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return clew.tanh(input)


@domain("real")
def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`."""
    return input - clew.tanh(input)


@domain("real; real, beta=2.0")
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`."""
    return clew.softplus(input, beta, threshold)


@domain("nonzero")
def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    return input / (input.abs() + 1)


@domain("nonzero; nonzero, lambd=1.0")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` where it is above `lambd` or below `-lambd`, else 0."""
    return clew.where(input.abs() <= lambd, 0, input)


@domain("nonzero; nonzero, lambd=1.0")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` moved by `lambd` towards 0, and no farther."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return input - input.clamp(-lambd, lambd)


@domain("nonzero; nonzero, lower=0.2, upper=0.4")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`x` where positive, else `x` times a slope: drawn from U(lower, upper) in training, their mean else."""
    if lower > upper:
        raise RuntimeError(
            f"rrelu: lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    input = input if inplace else input.contiguous()
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    negative = input.detach() <= 0
    slopes = clew.ones_like(input)
    slopes[negative] = clew.empty(int(negative.sum()), dtype=clew.float64).uniform_(lower, upper).to(input.dtype)
    return input.mul_(slopes) if inplace else input * slopes


@domain("nonzero, threshold=0.5, value=0.1")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` where it is above `threshold`, else `value`."""
    return variant("threshold", inplace)(input, threshold, value)


@domain("real, dim=1; real, dim=0")
def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`exp(x)` divided by its sum over `dim`.

    Example:
        >>> torch.nn.functional.softmax(torch.zeros(2), dim=0)
        tensor([0.5000, 0.5000])
    """
    return clew.softmax(input, _dim_or_guess(input, dim), dtype=dtype)


@domain("real, dim=1")
def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`softmax(-x)`."""
    return clew.softmax(-input, _dim_or_guess(input, dim), dtype=dtype)


@domain("real, dim=1; real, dim=0")
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


@domain("input=real(b, c); input=real(c, b), dim=0")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Halve the input along `dim`: the first half times the sigmoid of the second."""
    return clew.glu(input, dim)


@domain("unsampled, 'in place: as relu with inplace=True'")
def relu_(input: Tensor) -> Tensor:
    """`relu` in place."""
    return relu(input, inplace=True)


@domain("unsampled, 'in place: as elu with inplace=True'")
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
    return elu(input, alpha, inplace=True)


@domain("unsampled, 'in place: as celu with inplace=True'")
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return celu(input, alpha, inplace=True)


@domain("unsampled, 'in place: as selu with inplace=True'")
def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return selu(input, inplace=True)


@domain("unsampled, 'in place: as hardtanh with inplace=True'")
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place."""
    return variant("hardtanh", True)(input, min_val, max_val)


@domain("unsampled, 'in place: as leaky_relu with inplace=True'")
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
    return leaky_relu(input, negative_slope, inplace=True)


@domain("unsampled, 'in place: as threshold with inplace=True'")
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
    return variant("threshold", True)(input, threshold, value)


@domain("unsampled, 'in place: as rrelu with inplace=True'")
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)
