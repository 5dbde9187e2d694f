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
    """`max(0, x)`; the derivative at 0 is 0. Saves its result; `inplace=True` writes over the input.

    Example:
        >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return input.relu_() if inplace else clew.relu(input)


@domain("nonzero")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(0, x), 6)`.

    Example:
        >>> torch.nn.functional.relu6(torch.tensor([-1.0, 2.0, 8.0]))
        tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


@domain("nonzero; nonzero, min_val=-2.0, max_val=0.5")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` clamped to `[min_val, max_val]`; the derivative is 0 outside and at the limits.

    Raises:
        ValueError: `min_val > max_val`.

    Example:
        >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5, 3.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: expected min_val <= max_val, got {min_val} and {max_val}; swap them")
    return variant("hardtanh", inplace)(input, min_val, max_val)


@domain("nonzero; nonzero, negative_slope=0.3")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` where positive, else `negative_slope * x`.

    Example:
        >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    return variant("leaky_relu", inplace)(input, negative_slope)


@domain("input=nonzero(a, b), weight=positive(b); input=nonzero(b), weight=positive(1)")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` where positive, else `weight * x`, with a slope that is learned (He et al., https://arxiv.org/abs/1502.01852).

    Args:
        input: of shape (N, C, ...), or any shape for a single weight.
        weight: of shape (1) or (C), a slope for each channel, of the input's dtype.

    Example:
        >>> torch.nn.functional.prelu(torch.tensor([[-1.0, -1.0]]), torch.tensor([0.25, 0.5]))
        tensor([[-0.2500, -0.5000]])
    """
    return clew.prelu(input, weight)


@domain("nonzero; nonzero, alpha=1.5")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where positive, else `alpha * (exp(x) - 1)` (Clevert et al., https://arxiv.org/abs/1511.07289).

    Example:
        >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return variant("elu", inplace)(input, alpha)


@domain("nonzero; nonzero, alpha=1.5")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where positive, else `alpha * (exp(x / alpha) - 1)` (Barron, https://arxiv.org/abs/1704.07483).

    The derivative is continuous at 0 for every `alpha`.

    Example:
        >>> torch.nn.functional.celu(torch.tensor([-1.0, 2.0]), alpha=2.0)
        tensor([-0.7869,  2.0000])
    """
    return variant("celu", inplace)(input, alpha)


@domain("nonzero")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`scale * elu(x, alpha)` with the constants that keep mean 0 and variance 1 from layer to layer.

    alpha = 1.67326..., scale = 1.05070... (Klambauer et al., https://arxiv.org/abs/1706.02515).

    Example:
        >>> torch.nn.functional.selu(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return variant("elu", inplace)(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@domain("real; real, approximate='tanh'")
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """`x * Phi(x)`, Phi the distribution function of N(0, 1) (Hendrycks and Gimpel, https://arxiv.org/abs/1606.08415).

    Args:
        approximate: "none", or "tanh" for `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`.

    Example:
        >>> torch.nn.functional.gelu(torch.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """
    if approximate == "none":  # as nearly always; handing on a name would take as long as the rest
        return clew.gelu(input)
    return clew.gelu(input, approximate=approximate)


@domain("real")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`, also called swish.

    Example:
        >>> torch.nn.functional.silu(torch.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """
    return variant("silu", inplace)(input)


@domain("real")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))` (Misra, https://arxiv.org/abs/1908.08681).

    Example:
        >>> torch.nn.functional.mish(torch.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """
    return variant("mish", inplace)(input)


@domain("real")
def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`. Saves its result.

    Example:
        >>> torch.nn.functional.sigmoid(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([0.2689, 0.5000, 0.7311])
    """
    return clew.sigmoid(input)


@domain("real")
def logsigmoid(input: Tensor) -> Tensor:
    """`log(sigmoid(x))`, without the `log(0)` that this would give for very negative x.

    Example:
        >>> torch.nn.functional.logsigmoid(torch.tensor([-200.0, 0.0]))
        tensor([-200.0000,   -0.6931])
    """
    return clew.logsigmoid(input)


@domain("nonzero")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`x / 6 + 1 / 2`, clamped to `[0, 1]`: piecewise linear, close to `sigmoid`.

    Example:
        >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    return variant("hardsigmoid", inplace)(input)


@domain("nonzero")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * hardsigmoid(x)` (Howard et al., https://arxiv.org/abs/1905.02244).

    Example:
        >>> torch.nn.functional.hardswish(torch.tensor([-4.0, 1.5, 4.0]))
        tensor([-0.0000, 1.1250, 4.0000])
    """
    return variant("hardswish", inplace)(input)


@domain("real")
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent. Saves its result.

    Example:
        >>> torch.nn.functional.tanh(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.7616,  0.0000,  0.7616])
    """
    return clew.tanh(input)


@domain("real")
def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`.

    Example:
        >>> torch.nn.functional.tanhshrink(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2384,  0.0000,  0.2384])
    """
    return input - clew.tanh(input)


@domain("real; real, beta=2.0")
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`.

    Example:
        >>> torch.nn.functional.softplus(torch.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """
    return clew.softplus(input, beta, threshold)


@domain("nonzero")
def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`.

    Example:
        >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


@domain("nonzero; nonzero, lambd=1.0")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` where it is above `lambd` or below `-lambd`, else 0.

    Example:
        >>> torch.nn.functional.hardshrink(torch.tensor([-1.0, 0.2, 2.0]))
        tensor([-1.,  0.,  2.])
    """
    return clew.where(input.abs() <= lambd, 0, input)


@domain("nonzero; nonzero, lambd=1.0")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` moved towards 0 by `lambd`, and 0 where `|x| <= lambd`: the proximal operator of `lambd * |x|`.

    Raises:
        RuntimeError: `lambd` is negative.

    Example:
        >>> torch.nn.functional.softshrink(torch.tensor([-1.0, 0.2, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return input - input.clamp(-lambd, lambd)


@domain("nonzero; nonzero, lower=0.2, upper=0.4")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`x` where positive, else `slope * x`: in training a slope drawn from U(lower, upper), otherwise their mean.

    Xu et al., https://arxiv.org/abs/1505.00853.

    Raises:
        RuntimeError: `lower > upper`.

    Example:
        >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
        tensor([-0.2000,  2.0000])
    """
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
    """`x` where it is above `threshold`, else `value`; the derivative is 1 above and 0 elsewhere.

    Example:
        >>> torch.nn.functional.threshold(torch.tensor([-1.0, 0.5, 2.0]), 1.0, 20.0)
        tensor([20., 20.,  2.])
    """
    return variant("threshold", inplace)(input, threshold, value)


@domain("real, dim=1; real, dim=0")
def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`exp(x)` divided by its sum along `dim`. Saves its result.

    Args:
        input: of any shape.
        dim: the axis that sums to 1. Without it one is guessed, with a warning, as PyTorch does.
        dtype: cast the input to it first, say to avoid overflow.

    Example:
        >>> torch.nn.functional.softmax(torch.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.0900, 0.2447, 0.6652])
    """
    return clew.softmax(input, _dim_or_guess(input, dim), dtype=dtype)


@domain("real, dim=1")
def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`softmax(-x)`: exp(-x) divided by its sum along `dim`. Arguments as for `softmax`.

    Example:
        >>> torch.nn.functional.softmin(torch.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.6652, 0.2447, 0.0900])
    """
    return clew.softmax(-input, _dim_or_guess(input, dim), dtype=dtype)


@domain("real, dim=1; real, dim=0")
def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`log(softmax(x))` as `x - logsumexp(x)`, which neither overflows nor gives `log(0)`. Arguments as for `softmax`.

    Example:
        >>> torch.nn.functional.log_softmax(torch.tensor([0.0, 200.0]), dim=0)
        tensor([-200.,    0.])
    """
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
    """Gated linear unit: `a * sigmoid(b)`, where a and b are the halves of the input along `dim`.

    Dauphin et al., https://arxiv.org/abs/1612.08083.

    Raises:
        RuntimeError: the size of the axis is odd.

    Example:
        >>> torch.nn.functional.glu(torch.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """
    return clew.glu(input, dim)


@domain("unsampled, 'in place: as relu with inplace=True'")
def relu_(input: Tensor) -> Tensor:
    """`relu` in place.

    Example:
        >>> torch.nn.functional.relu_(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return relu(input, inplace=True)


@domain("unsampled, 'in place: as elu with inplace=True'")
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place.

    Example:
        >>> torch.nn.functional.elu_(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return elu(input, alpha, inplace=True)


@domain("unsampled, 'in place: as celu with inplace=True'")
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place.

    Example:
        >>> torch.nn.functional.celu_(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return celu(input, alpha, inplace=True)


@domain("unsampled, 'in place: as selu with inplace=True'")
def selu_(input: Tensor) -> Tensor:
    """`selu` in place.

    Example:
        >>> torch.nn.functional.selu_(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return selu(input, inplace=True)


@domain("unsampled, 'in place: as hardtanh with inplace=True'")
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place.

    Example:
        >>> torch.nn.functional.hardtanh_(torch.tensor([-3.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    return variant("hardtanh", True)(input, min_val, max_val)


@domain("unsampled, 'in place: as leaky_relu with inplace=True'")
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place.

    Example:
        >>> torch.nn.functional.leaky_relu_(torch.tensor([-1.0, 2.0]))
        tensor([-0.0100,  2.0000])
    """
    return leaky_relu(input, negative_slope, inplace=True)


@domain("unsampled, 'in place: as threshold with inplace=True'")
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place.

    Example:
        >>> torch.nn.functional.threshold_(torch.tensor([-1.0, 2.0]), 0.0, 5.0)
        tensor([5., 2.])
    """
    return variant("threshold", True)(input, threshold, value)


@domain("unsampled, 'in place: as rrelu with inplace=True'")
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place.

    Example:
        >>> torch.nn.functional.rrelu_(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
        tensor([-0.2000,  2.0000])
    """
    return rrelu(input, lower, upper, training, inplace=True)
