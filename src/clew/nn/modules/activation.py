"""Activations as modules.

Each is a function of `nn.functional` with fixed arguments: a class lists the arguments with their defaults, and
`Activation` makes the constructor and the repr from them. All take and give tensors of any shape.
"""

from __future__ import annotations

import clew
from clew import Tensor

from .. import functional as F
from .activation_base import Activation
from .activation_piecewise import (
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    PReLU,
    ReLU,
    ReLU6,
    RReLU,
    Softshrink,
    Threshold,
)
from .softmaxes import GLU, LogSoftmax, Softmax, Softmax2d, Softmin

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class ELU(Activation):
    """`x` where positive, else `alpha * (exp(x) - 1)` (Clevert et al., https://arxiv.org/abs/1511.07289).

    Example:
        >>> torch.nn.ELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """

    alpha: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(Activation):
    """`x` where positive, else `alpha * (exp(x / alpha) - 1)` (Barron, https://arxiv.org/abs/1704.07483).

    Example:
        >>> torch.nn.CELU(2.0)(torch.tensor([-1.0, 2.0]))
        tensor([-0.7869,  2.0000])
    """

    alpha: float = 1.0

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha)


class SELU(Activation):
    """`ELU` with the constants that keep mean 0 and variance 1 (Klambauer et al., https://arxiv.org/abs/1706.02515).

    Example:
        >>> torch.nn.SELU()(torch.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input)


class GELU(Activation):
    """`x * Phi(x)`, Phi the distribution function of N(0, 1); see `clew.nn.functional.gelu`.

    Args:
        approximate: "none", or "tanh" for the approximation by a tanh.

    Example:
        >>> torch.nn.GELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """

    approximate: str = "none"

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class SiLU(Activation):
    """`x * sigmoid(x)`, also called swish.

    Example:
        >>> torch.nn.SiLU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(Activation):
    """`x * tanh(softplus(x))` (Misra, https://arxiv.org/abs/1908.08681).

    Example:
        >>> torch.nn.Mish()(torch.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Sigmoid(Activation):
    """`1 / (1 + exp(-x))`, elementwise.

    Example:
        >>> torch.nn.Sigmoid()(torch.tensor([-1.0, 2.0]))
        tensor([0.2689, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return clew.sigmoid(input)


class LogSigmoid(Activation):
    """`log(sigmoid(x))`, without the `log(0)` that this would give for very negative x.

    Example:
        >>> torch.nn.LogSigmoid()(torch.tensor([-200.0, 0.0]))
        tensor([-200.0000,   -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Tanh(Activation):
    """Hyperbolic tangent, elementwise.

    Example:
        >>> torch.nn.Tanh()(torch.tensor([-1.0, 2.0]))
        tensor([-0.7616,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return clew.tanh(input)


class Tanhshrink(Activation):
    """`x - tanh(x)`, elementwise.

    Example:
        >>> torch.nn.Tanhshrink()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2384,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softplus(Activation):
    """`log(1 + exp(beta * x)) / beta`; `x` itself where `beta * x > threshold`.

    Example:
        >>> torch.nn.Softplus()(torch.tensor([-1.0, 30.0]))
        tensor([ 0.3133, 30.0000])
    """

    beta: float = 1.0
    threshold: float = 20.0

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softsign(Activation):
    """`x / (1 + |x|)`, elementwise.

    Example:
        >>> torch.nn.Softsign()(torch.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)
