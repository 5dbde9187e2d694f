"""What the weight and spectral norms of both kinds (parametrizations and hooks) compute."""

from __future__ import annotations

import clew
from clew import Tensor

from .. import functional as F


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norm over all axes but `dim`, which are kept with size 1; over all for -1."""
    if dim == -1:
        return v.norm(2)
    axes = [axis for axis in range(v.dim()) if axis != dim % v.dim()]
    return v.norm(2, axes, keepdim=True) if axes else v.abs()


def weight_norm_of(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """The direction of `v` times the length `g`."""
    return v * (g / norm_except_dim(v, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """`weight` with the axis `dim` as rows, all others as columns."""
    if dim != 0:
        weight = weight.permute(dim, *[axis for axis in range(weight.dim()) if axis != dim])
    return weight.flatten(1)


def power_iterations(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> None:
    """Turn `u` and `v`, in place, towards the singular vectors of the largest singular value."""
    with clew.no_grad():
        for _ in range(count):
            u.copy_(F.normalize(matrix.mv(v), dim=0, eps=eps))
            v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=eps))
