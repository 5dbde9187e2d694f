"""Activations that write over their input, as functions."""

from __future__ import annotations

from clew import Tensor
from clew._domains import domain

from .activation import celu, elu, selu
from .activation_piecewise import leaky_relu, relu, rrelu
from .variant import variant

__all__ = ["celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_"]


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
