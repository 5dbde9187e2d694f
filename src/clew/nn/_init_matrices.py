"""Initial weights that are structured: the identity, orthogonal and sparse matrices."""

from __future__ import annotations

import math
from typing import Any

import clew
from clew import Tensor


def eye_(tensor: Tensor) -> Tensor:
    """Fill the matrix with the identity.

    Raises:
        ValueError: not two dimensions.

    Example:
        >>> torch.nn.init.eye_(torch.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    with clew.no_grad():
        return tensor.copy_(clew.eye(*tensor.shape))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill a matrix with orthonormal rows or columns, whichever are fewer (Saxe et al., https://arxiv.org/abs/1312.6120).

    Dimensions after the first count as columns.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> weight = torch.nn.init.orthogonal_(torch.empty(2, 3))
        >>> torch.allclose(weight @ weight.T, torch.eye(2), atol=1e-5)
        True
    """
    if tensor.dim() < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, got {tensor.dim()}")
    if tensor.numel() == 0:
        return tensor
    import numpy

    rows = tensor.shape[0]
    drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(generator=generator).numpy()
    q, r = numpy.linalg.qr(drawn.T if drawn.shape[0] < drawn.shape[1] else drawn)
    # The decomposition leaves signs open; fixing them makes the result uniform (https://arxiv.org/abs/math-ph/0609050).
    q = q * numpy.sign(numpy.diagonal(r))
    matrix = numpy.ascontiguousarray(q if q.shape == drawn.shape else q.T)
    with clew.no_grad():
        return tensor.copy_(clew.from_numpy(matrix).view(tensor.shape)).mul_(gain)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight (K, C, ...) so that it passes on as many channels as it can, in each of the groups.

    Raises:
        ValueError: not 3, 4 or 5 dimensions, or groups that do not divide the first.

    Example:
        >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, got {tensor.dim()}")
    outputs, inputs, *sizes = tensor.shape
    if outputs % groups:
        raise ValueError(f"dim 0 must be divisible by groups, got {outputs} and {groups}")
    each, middle = outputs // groups, [size // 2 for size in sizes]
    with clew.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(each, inputs)):
                tensor[(group * each + channel, channel, *middle)] = 1
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a dense matrix with draws from N(0, std²), and zeros for a fraction `sparsity` of each column.

    Martens, 2010.

    Raises:
        ValueError: not two dimensions.

    Example:
        >>> (torch.nn.init.sparse_(torch.empty(4, 2), 0.5) == 0).sum(0)
        tensor([2, 2])
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    rows, columns = tensor.shape
    with clew.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[clew.randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
    return tensor
