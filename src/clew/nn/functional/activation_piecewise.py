"""Activations made of straight pieces, as functions."""

from __future__ import annotations

import clew
from clew import Tensor, _core
from clew._domains import domain

from .variant import variant

__all__ = [
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "prelu",
    "relu",
    "relu6",
    "rrelu",
    "softshrink",
    "threshold",
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
    slopes = _core.ops._rrelu_slopes(input.detach(), lower, upper).to(input.dtype)
    return input.mul_(slopes) if inplace else input * slopes


@domain("nonzero, threshold=0.5, value=0.1")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` where it is above `threshold`, else `value`; the derivative is 1 above and 0 elsewhere.

    Example:
        >>> torch.nn.functional.threshold(torch.tensor([-1.0, 0.5, 2.0]), 1.0, 20.0)
        tensor([20., 20.,  2.])
    """
    return variant("threshold", inplace)(input, threshold, value)
