"""Convolutions, as functions. They are the core's own; here they get their documentation."""

from __future__ import annotations

from collections.abc import Sequence

import clew
from clew import Tensor
from clew._domains import domain

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]

Numbers = int | Sequence[int]  # one for each axis of space, or one for all


@domain(
    "input=real(a, 4, 5), weight=real(2, 4, 3), bias=real(2); "
    "input=real(4, 5), weight=real(4, 2, 2), stride=2, padding=1, dilation=2, groups=2; "
    "input=real(a, 2, 5), weight=real(2, 2, 2), padding='same'"
)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: str | Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of sequences with kernels, plus a bias.

    `out[n, k, i] = bias[k] + sum over c and j of input[n, c, i * stride + j * dilation] * weight[k, c, j]`

    Args:
        input: of shape (N, C, L) or (C, L).
        weight: of shape (K, C / groups, size), of the input's dtype.
        bias: of shape (K).
        stride: the step from one result to the next.
        padding: zeros before and after the sequence; "same" keeps the length, "valid" means none.
        dilation: the distance between the elements under the kernel.
        groups: input and output channels are cut into so many groups; each is convolved by itself.

    Returns:
        Of shape (N, K, L') or (K, L') with `L' = floor((L + 2 * padding - dilation * (size - 1) - 1) / stride) + 1`.
        Input and weight are saved, each for the other's gradient.

    Raises:
        RuntimeError: sizes or dtypes do not fit.

    Example:
        >>> torch.nn.functional.conv1d(torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([[[-1.0, 1.0]]]))
        tensor([[1., 2.]])
    """
    return clew.conv1d(input, weight, bias, stride, padding, dilation, groups)


@domain(
    "input=real(1, 2, 4, 3), weight=real(2, 2, 2, 2), bias=real(2); "
    "input=real(2, 4, 3), weight=real(2, 1, 2, 2), stride=(2, 1), groups=2"
)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: str | Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images: `conv1d` with input (N, C, H, W) or (C, H, W) and weight (K, C / groups, h, w).

    Raises:
        RuntimeError: sizes or dtypes do not fit.

    Example:
        >>> torch.nn.functional.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 3, 3), padding=1)
        tensor([[[[4., 4.],
                  [4., 4.]]]])
    """
    return clew.conv2d(input, weight, bias, stride, padding, dilation, groups)


@domain("input=real(1, 1, 3, 3, 2), weight=real(2, 1, 2, 2, 2), bias=real(2)")
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: str | Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes: `conv1d` with input (N, C, D, H, W) or (C, D, H, W).

    The weight has shape (K, C / groups, d, h, w).

    Raises:
        RuntimeError: sizes or dtypes do not fit.

    Example:
        >>> torch.nn.functional.conv3d(torch.ones(1, 1, 2, 2, 2), torch.ones(3, 1, 2, 2, 2)).flatten()
        tensor([8., 8., 8.])
    """
    return clew.conv3d(input, weight, bias, stride, padding, dilation, groups)


@domain("input=real(2, 4), weight=real(2, 1, 3), stride=2, padding=1, output_padding=1, groups=2")
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Tensor:
    """The transpose of `conv1d` as a linear map of its input, also called deconvolution: the gradient of `conv1d`.

    Args:
        input: of shape (N, C, L) or (C, L).
        weight: of shape (C, K / groups, size).
        bias: of shape (K).
        stride, padding, dilation, groups: of the convolution that this one is the transpose of.
        output_padding: added to the length of the result, which a stride leaves open.

    Returns:
        Of shape (N, K, L') or (K, L') with
        `L' = (L - 1) * stride - 2 * padding + dilation * (size - 1) + output_padding + 1`.

    Raises:
        RuntimeError: sizes or dtypes do not fit, or `output_padding` is not below stride or dilation.

    Example:
        >>> torch.nn.functional.conv_transpose1d(torch.tensor([[1.0, 2.0]]), torch.ones(1, 1, 2), stride=2)
        tensor([[1., 1., 2., 2.]])
    """
    return clew.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)


@domain("input=real(1, 2, 2, 3), weight=real(2, 2, 2, 2), bias=real(2)")
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Tensor:
    """`conv_transpose1d` for images: input (N, C, H, W) or (C, H, W), weight (C, K / groups, h, w).

    Example:
        >>> torch.nn.functional.conv_transpose2d(torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 2, 2), stride=2)
        tensor([[[1., 1., 2., 2.],
                 [1., 1., 2., 2.]]])
    """
    return clew.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


@domain("input=real(1, 1, 2, 2, 2), weight=real(1, 2, 2, 2, 2), bias=real(2)")
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Tensor:
    """`conv_transpose1d` for volumes: input (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 1, 1, 1), torch.ones(1, 2, 2, 2, 2)).shape
        torch.Size([1, 2, 2, 2, 2])
    """
    return clew.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)
