"""Dropout of whole channels, and dropout that keeps the moments of `selu`."""

from __future__ import annotations

import math
import warnings
from typing import Any

import clew
from clew import Tensor
from clew._domains import domain

from .layer import check_probability

__all__ = [
    "alpha_dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "gumbel_softmax",
]

# What `selu` has for its smallest value, negated.
_FLOOR = 1.6732632423543772848170429916717 * 1.0507009873554804934193349852946


def _channels(input: Tensor, p: float) -> Tensor:
    """For each channel of (N, C, ...) whether it stays: 0 or 1."""
    if input.dim() < 2:
        raise RuntimeError(f"Feature dropout requires at least 2 dimensions in the input, got {input.dim()}")
    return input.new_empty((*input.shape[:2], *[1] * (input.dim() - 2))).bernoulli_(1 - p)


def _drop(input: Tensor, p: float, training: bool, inplace: bool, alpha: bool, channels: bool) -> Tensor:
    check_probability(p)
    if p == 0 or not training or input.numel() == 0:
        return input
    multiply, add = (Tensor.mul_, Tensor.add_) if inplace else (Tensor.mul, Tensor.add)
    if p == 1:
        return multiply(input, clew.zeros((), dtype=input.dtype))
    noise = _channels(input, p) if channels else clew.empty_like(input).bernoulli_(1 - p)
    if not alpha:
        return multiply(input, noise.div_(1 - p))
    scale = 1 / math.sqrt((_FLOOR * _FLOOR * p + 1) * (1 - p))
    shift = noise.add(-1).mul_(_FLOOR * scale).add_(_FLOOR * scale * p)
    return add(multiply(input, noise.mul_(scale)), shift)


def _batched(input: Tensor, axes: int, p: float, training: bool, inplace: bool) -> Tensor:
    """Drop channels of (N, C, ...) or (C, ...), with so many axes after C."""
    if input.dim() == axes + 2:
        return _drop(input, p, training, inplace, alpha=False, channels=True)
    more, less = (Tensor.unsqueeze_, Tensor.squeeze_) if inplace else (Tensor.unsqueeze, Tensor.squeeze)
    return less(_drop(more(input, 0), p, training, inplace, alpha=False, channels=True), 0)


def _warn_of_rank(name: str, input: Tensor, axes: int) -> None:
    warnings.warn(
        f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will result in an error in a "
        "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
        f"{name} exists to provide channel-wise dropout on inputs with {axes} spatial dimensions, a channel dimension, "
        f"and an optional batch dimension (i.e. {axes + 1}D or {axes + 2}D inputs).",
        stacklevel=3,
    )


@domain("input=real(a, b, c); input=real(b, c), training=False")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel of (N, C, L) or (C, L) with probability `p`; multiply the others by `1 / (1 - p)`.

    Raises:
        RuntimeError: the input has another number of dimensions.
        ValueError: `p` is not in [0, 1].

    Example:
        >>> y = torch.nn.functional.dropout1d(torch.ones(2, 3, 4), 0.5)
        >>> bool(((y == 0).all(2) | (y == 2).all(2)).all())
        True
    """
    check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input; use dropout")
    return _batched(input, 1, p, training, inplace)


@domain("input=real(1, b, 2, 3); input=real(1, b, 2, 3), training=False")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel of (N, C, H, W) with probability `p`; multiply the others by `1 / (1 - p)`.

    A 3-D input is taken as (N, C, L), with a warning.

    Raises:
        ValueError: `p` is not in [0, 1].

    Example:
        >>> y = torch.nn.functional.dropout2d(torch.ones(2, 3, 4, 4), 0.5)
        >>> bool(((y == 0).all(3).all(2) | (y == 2).all(3).all(2)).all())
        True
    """
    check_probability(p)
    if input.dim() not in (3, 4):
        _warn_of_rank("dropout2d", input, 2)
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _drop(input, p, training, inplace, alpha=False, channels=True)


@domain("input=real(1, b, 2, 3, 2); input=real(b, 2, 3, 2), training=False")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each channel of (N, C, D, H, W) or (C, D, H, W) with probability `p`; multiply the others by `1 / (1 - p)`.

    Raises:
        ValueError: `p` is not in [0, 1].

    Example:
        >>> y = torch.nn.functional.dropout3d(torch.ones(1, 3, 2, 2, 2), 0.5)
        >>> sorted(set(y.sum((2, 3, 4)).flatten().tolist())) in ([0.0], [16.0], [0.0, 16.0])
        True
    """
    check_probability(p)
    if input.dim() not in (4, 5):
        _warn_of_rank("dropout3d", input, 3)
    return _batched(input, 3, p, training, inplace)


@domain("real; real, training=True")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for `selu` networks: with probability `p` an element becomes selu's lower bound, not 0.

    The result is then scaled and shifted so that mean 0 and variance 1 are kept (Klambauer et al.,
    https://arxiv.org/abs/1706.02515). Without `training` it is the input.

    Raises:
        ValueError: `p` is not in [0, 1].

    Example:
        >>> y = torch.nn.functional.alpha_dropout(torch.zeros(100), 0.5, training=True)
        >>> y.unique().numel()
        2
    """
    return _drop(input, p, training, inplace, alpha=True, channels=False)


@domain("input=real(1, b, 2, 3); input=real(1, b, 2, 3), training=True")
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, ...): all elements of a channel are kept, or none.

    Raises:
        RuntimeError: fewer than two dimensions.
        ValueError: `p` is not in [0, 1].

    Example:
        >>> y = torch.nn.functional.feature_alpha_dropout(torch.zeros(2, 3, 4), 0.5, training=True)
        >>> bool((y == y[:, :, :1]).all())
        True
    """
    return _drop(input, p, training, inplace, alpha=True, channels=True)


@domain("unsampled, 'random: its values are compared in tests/nn'")
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of the Gumbel-softmax distribution (Jang et al., https://arxiv.org/abs/1611.01144).

    Args:
        logits: unnormalised log-probabilities, of shape (..., C).
        tau: the temperature.
        hard: give one-hot vectors, with the gradient of the soft ones.
        eps: without effect.
        dim: the axis of the classes.

    Returns:
        Of the shape of `logits`; each slice along `dim` sums to 1.

    Example:
        >>> y = torch.nn.functional.gumbel_softmax(torch.zeros(5, 3), hard=True)
        >>> y.sum(-1)
        tensor([1., 1., 1., 1., 1.])
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -clew.empty_like(logits, memory_format=clew.contiguous_format).exponential_().log()
    soft: Any = ((logits + noise) / tau).softmax(dim)
    if not hard:
        result: Tensor = soft
        return result
    places = soft.max(dim, keepdim=True)[1]
    chosen = clew.zeros_like(logits, memory_format=clew.contiguous_format).scatter_(dim, places, 1.0)
    straight: Tensor = chosen - soft.detach() + soft
    return straight
