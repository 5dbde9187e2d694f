"""Normalisation over the batch, over groups of channels, and over single channels of single samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import clew
from clew import Tensor
from clew._domains import domain

from .padding import pad
from .pooling import avg_pool2d

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "local_response_norm",
    "rms_norm",
]


@domain(
    "input=real(c, b), weight=real(b), bias=real(b), training=True; "
    "input=real(c, b), running_mean=constant(real(b)), running_var=constant(positive(b))"
)
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

    Example:
        >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    if training:
        _need_several("value per channel", input, math.prod(input.shape[:1]) * math.prod(input.shape[2:]))
    return clew.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _need_several(what: str, input: Tensor, count: int) -> None:
    if count == 1:
        raise ValueError(f"Expected more than 1 {what} when training, got input size {input.shape}")


@domain("input=real(a, b, c), weight=real(b), bias=real(b)")
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
    """`(x - mean) / sqrt(variance + eps) * weight + bias` for each channel of each sample of `input` (N, C, ...).

    Instance normalization (Ulyanov et al., https://arxiv.org/abs/1607.08022).

    Args:
        running_mean, running_var: of shape (C); with `use_input_stats` they move towards the mean over the samples by
            `momentum`, in place; without it they take the place of the moments.
        weight, bias: of shape (C); 1 and 0 unless given.

    Raises:
        ValueError: one element per channel only.
        RuntimeError: sizes or dtypes do not fit, or neither input statistics nor running ones.

    Example:
        >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
        tensor([[[-1.0000,  1.0000],
                 [-1.0000,  1.0000]]])
    """
    if not use_input_stats:
        return clew.batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    _need_several("spatial element", input, math.prod(input.shape[2:]))
    samples, channels = input.shape[:2]

    def repeated(values: Tensor | None) -> Tensor | None:
        return None if values is None else values.repeat(samples)

    means, variances = repeated(running_mean), repeated(running_var)
    flat = input.contiguous().reshape(1, samples * channels, *input.shape[2:])
    result = clew.batch_norm(flat, repeated(weight), repeated(bias), means, variances, True, momentum, eps)
    for running, moved in [(running_mean, means), (running_var, variances)]:
        if running is not None and moved is not None:
            with clew.no_grad():
                running.copy_(moved.reshape(samples, channels).mean(0))
    return result.reshape(input.shape)


@domain("input=real(a, c, b), num_groups=2, weight=real(c), bias=real(c)")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`(x - mean) / sqrt(variance + eps)` over each of `num_groups` groups of the channels of `input` (N, C, ...).

    Then each channel is multiplied by `weight` (C), and `bias` (C) is added. Group normalization (Wu and He,
    https://arxiv.org/abs/1803.08494).

    Raises:
        RuntimeError: the groups do not divide the channels.
        ValueError: a group has one element only.
        ZeroDivisionError: there are no groups.

    Example:
        >>> torch.nn.functional.group_norm(torch.tensor([[[1.0], [3.0], [10.0], [30.0]]]), 2).flatten()
        tensor([-1.0000,  1.0000, -1.0000,  1.0000])
    """
    if input.dim() >= 2:
        if num_groups == 0:
            raise ZeroDivisionError("group_norm: expected num_groups above 0, got 0")
        of_group = input.shape[0] * input.shape[1] // num_groups
        _need_several("value per channel", input, of_group * math.prod(input.shape[2:]))
    return clew.group_norm(input, num_groups, weight, bias, eps)


@domain(
    "input=real(a, b, c), normalized_shape=(c,), weight=real(c); input=real(a, b, c), normalized_shape=(b, c), eps=0.1"
)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """`x / sqrt(mean(x * x) + eps) * weight`, with the mean over the last dimensions, of the sizes `normalized_shape`.

    Root mean square layer normalization (Zhang and Sennrich, https://arxiv.org/abs/1910.07467).

    Args:
        weight: of shape `normalized_shape`.
        eps: the dtype's `finfo(...).eps` unless given.

    Raises:
        RuntimeError: the input's last sizes are others, or the weight's are.
        ValueError: the input has fewer dimensions.

    Example:
        >>> torch.nn.functional.rms_norm(torch.tensor([3.0, 4.0]), (2,))
        tensor([0.8485, 1.1314])
    """
    sizes = tuple(normalized_shape)
    if weight is not None and tuple(weight.shape) != sizes:
        raise RuntimeError(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight.shape)} and normalized_shape = {list(sizes)}"
        )
    if input.dim() < len(sizes):
        raise ValueError(f"rms_norm: Input tensor must have at least {len(sizes)} dimensions, but got {input.dim()}")
    if not sizes or tuple(input.shape[-len(sizes) :]) != sizes:
        raise RuntimeError(
            f"Given normalized_shape={list(sizes)}, expected input with shape [*, {', '.join(map(str, sizes))}], "
            f"but got input of size{list(input.shape)}"
        )
    tiny = clew.finfo(input.dtype).eps if eps is None else eps
    scaled = input * (input.square().mean(tuple(range(-len(sizes), 0)), keepdim=True) + tiny).rsqrt()
    return (scaled if weight is None else (scaled * weight).to(input.dtype)).contiguous()


@domain("input=real(a, b, c), size=2; input=real(1, b, 2, 3), size=3, alpha=0.5, beta=0.6, k=2.0")
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """`x / (k + alpha * m) ** beta`, where m is the mean of the squares of the `size` channels around x's.

    Args:
        input: of shape (N, C, ...), three dimensions or more. Channels beyond the ends count as zeros.

    Local response normalization (Krizhevsky et al., 2012,
    https://papers.nips.cc/paper/4824-imagenet-classification-with-deep-convolutional-neural-networks).

    Raises:
        ValueError: fewer than three dimensions.

    Example:
        >>> torch.nn.functional.local_response_norm(torch.ones(1, 3, 1), 3, alpha=3.0, beta=1.0).flatten()
        tensor([0.3333, 0.2500, 0.3333])
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    squares = (input * input).reshape(input.shape[0], 1, input.shape[1], -1)
    around = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = avg_pool2d(around, (size, 1), stride=1).reshape(input.shape)
    return input / (means * alpha + k) ** beta
