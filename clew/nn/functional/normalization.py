"""Normalisation over the batch, over groups of channels, and over single channels of single samples."""

from __future__ import annotations

import math

import clew
from clew import Tensor


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`(x - mean) / sqrt(variance + eps) * weight + bias` for each channel of `input` (N, C, ...).

    Batch normalization (Ioffe and Szegedy, https://arxiv.org/abs/1502.03167). In training the moments are the batch's,
    and `running_mean` and `running_var` (C) move towards them by `momentum`; else they are the running ones.

    Raises:
        ValueError: training on a single value per channel.
        RuntimeError: sizes or dtypes do not fit.

    >>> import clew
    >>> clew.nn.functional.batch_norm(clew.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        _need_several("value per channel", input, math.prod(input.shape) // max(1, input.shape[1]))
    return clew.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _need_several(what: str, input: Tensor, count: int) -> None:
    if count == 1:
        raise ValueError(f"Expected more than 1 {what} when training, got input size {input.shape}")


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`batch_norm` with the moments of each sample (Ulyanov et al., https://arxiv.org/abs/1607.08022).

    The running statistics move towards the samples' mean.
    """
    if not use_input_stats:
        return clew.batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    _need_several("spatial element", input, math.prod(input.shape[2:]))
    samples, channels = input.shape[:2]

    def repeated(values: Tensor | None) -> Tensor | None:
        return None if values is None else values.repeat(samples)

    means, variances = repeated(running_mean), repeated(running_var)
    flat = input.reshape(1, samples * channels, *input.shape[2:])
    result = clew.batch_norm(flat, repeated(weight), repeated(bias), means, variances, True, momentum, eps)
    for running, moved in [(running_mean, means), (running_var, variances)]:
        if running is not None and moved is not None:
            with clew.no_grad():
                running.copy_(moved.reshape(samples, channels).mean(0))
    return result.reshape(input.shape)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise the channels of `input` (N, C, ...) in `num_groups` groups, then scale and shift each channel.

    Group normalization (Wu and He, https://arxiv.org/abs/1803.08494).

    Raises:
        RuntimeError: the groups do not divide the channels.
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    samples, channels = input.shape[:2]
    if num_groups <= 0 or channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, parameter in [("weight", weight), ("bias", bias)]:
        if parameter is not None and tuple(parameter.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(parameter.shape)} and input of shape {list(input.shape)}"
            )
    grouped = input.reshape(samples, num_groups, math.prod(input.shape[1:]) // num_groups)
    result = clew.layer_norm(grouped, grouped.shape[-1:], None, None, eps).reshape(input.shape)
    sizes = [1, channels, *[1] * (input.dim() - 2)]
    if weight is not None:
        result = result * weight.reshape(sizes)
    return result if bias is None else result + bias.reshape(sizes)
