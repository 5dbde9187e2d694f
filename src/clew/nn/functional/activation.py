"""Activation functions: each works elementwise and gives a tensor of the input's shape, unless it says otherwise."""

from __future__ import annotations

import clew
from clew import Tensor
from clew._domains import domain

from .variant import variant

__all__ = [
    "celu",
    "elu",
    "gelu",
    "logsigmoid",
    "mish",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softsign",
    "tanh",
    "tanhshrink",
]


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
