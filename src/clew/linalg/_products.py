"""Products and powers of matrices, and functions of vectors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._out import filled
from ._checks import check_floating, check_tensor
from ._systems import inv, solve

__all__ = ["cross", "diagonal", "matmul", "multi_dot", "tensorinv", "tensorsolve", "vander", "vecdot"]

_ops: Any = _core.ops


# ------------------------------------------------------------------------------------------------------------- products
@domain("input=real(a, b), other=real(b, c)")
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of matrices: `clew.matmul`.

    Example:
        >>> torch.linalg.matmul(torch.ones(2, 3), torch.ones(3, 1)).shape
        torch.Size([2, 1])
    """
    result: Tensor = _ops.matmul(input, other)
    return filled("linalg.matmul", result, out)


@domain("tensors=[real(a, b), real(b, c), real(c, a), real(a, d)]; tensors=[real(b), real(b, c), real(c)]; "
        "tensors=[real(a, b), real(b)]")  # fmt: skip
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications.

    Args:
        tensors: at least two matrices; the first and the last may be vectors.

    Raises:
        RuntimeError: fewer than two, other dimensions, or sizes that do not fit.

    Example:
        >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
        tensor([12., 12.])
    """
    name = "linalg.multi_dot"
    if len(tensors) < 2:
        raise RuntimeError(f"{name}: expected at least 2 tensors but got {len(tensors)}")
    for place, one in enumerate(tensors):
        check_tensor(name, "tensors", one)
        vectors_fit = place in (0, len(tensors) - 1) and one.dim() == 1
        if one.dim() != 2 and not vectors_fit:
            raise RuntimeError(
                f"{name}: tensor {place} must be 2D (the first and the last may be 1D) but got {one.dim()}D"
            )
    matrices = list(tensors)
    if matrices[0].dim() == 1:
        matrices[0] = matrices[0].unsqueeze(0)
    if matrices[-1].dim() == 1:
        matrices[-1] = matrices[-1].unsqueeze(1)
    for place, (left, right) in enumerate(itertools.pairwise(matrices)):
        if left.shape[1] != right.shape[0]:
            raise RuntimeError(
                f"{name}: tensors {place} and {place + 1} with shapes {list(left.shape)} and {list(right.shape)} "
                "cannot be multiplied"
            )
    cuts = _cheapest_cuts([matrices[0].shape[0], *(one.shape[1] for one in matrices)])
    result = _chained(matrices, cuts, 0, len(matrices) - 1)
    if tensors[0].dim() == 1:
        result = result.squeeze(0)
    if tensors[-1].dim() == 1:
        result = result.squeeze(-1)
    return filled(name, result, out)


def _cheapest_cuts(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut each run of matrices i..j so that the products on both sides and the last one cost least."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    cuts = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            ways = [(costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            costs[i, j], cuts[i, j] = min(ways)
    return cuts


def _chained(matrices: list[Tensor], cuts: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    """The product of the matrices from i to j."""
    if i == j:
        return matrices[i]
    cut = cuts[i, j]
    return _chained(matrices, cuts, i, cut) @ _chained(matrices, cuts, cut + 1, j)


@domain("x=real(a, b), y=real(a, b); x=real(c, a, b), y=real(a, 1), dim=1")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The sum of the products of elements along an axis, after broadcasting.

    Example:
        >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
        tensor([3., 7.])
    """
    result: Tensor = (x * y).sum(dim)
    return filled("linalg.vecdot", result, out)


@domain("input=real(a, 3), other=real(a, 3); input=real(3, b), other=real(3, 1), dim=0")
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of three elements along an axis; the other axes broadcast.

    Raises:
        RuntimeError: other sizes than 3 along the axis, or different dtypes or numbers of dimensions.

    Example:
        >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
    """
    name = "linalg.cross"
    if input.dim() != other.dim():
        raise RuntimeError(
            f"{name}: inputs must have the same number of dimensions, got {input.dim()} and {other.dim()}"
        )
    if input.dtype != other.dtype:
        raise RuntimeError(f"{name}: expected scalar type {input.dtype} but found {other.dtype}; cast one")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"{name}: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    after = [[x.select(dim, (i + shift) % 3) for i in range(3)] for x in (input, other) for shift in (1, 2)]
    (a1, a2), (b1, b2) = after[:2], after[2:]
    parts = [a1[i] * b2[i] - a2[i] * b1[i] for i in range(3)]
    result: Tensor = _ops.stack(parts, dim)
    return filled(name, result, out)


@domain("A=real(a, b, c); A=real(a, b, c), offset=1, dim1=0, dim2=2")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonal of each matrix: `clew.diagonal` along the last two axes.

    Example:
        >>> torch.linalg.diagonal(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1., 4.])
    """
    result: Tensor = _ops.diagonal(A, offset, dim1, dim2)
    return result


@domain("x=real(a, b); x=real(b), N=4")
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0, 1, ..., N - 1 of the elements, along a new last axis; N is the size of the last one by default.

    Raises:
        RuntimeError: no dimensions, or N below 2.

    Example:
        >>> torch.linalg.vander(torch.tensor([2.0, 3.0]), N=3)
        tensor([[1., 2., 4.],
                [1., 3., 9.]])
    """
    check_tensor("linalg.vander", "x", x)
    if x.dim() == 0:
        raise RuntimeError("linalg.vander: x must have at least 1 dimension, got none")
    count = x.shape[-1] if N is None else N
    if count <= 1 and N is not None:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {N}")
    if not x.dtype.is_floating_point:
        x = x.to(_core.dtypes["int64"])
    repeated = x.unsqueeze(-1).expand(*x.shape, max(count - 1, 0))
    result: Tensor = _ops.cat([x.new_ones(x.shape).unsqueeze(-1), repeated.cumprod(-1)], -1)
    return result


# --------------------------------------------------------------------------------------------------------------- powers


# -------------------------------------------------------------------------------------------------------------- tensors
@domain("A=real(a, b, 6)")
def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the linear map `X -> tensordot(A, X, A.dim() - ind)`.

    Args:
        A: floating; the product of its first `ind` sizes is that of the others.

    Returns:
        Shape `A.shape[ind:] + A.shape[:ind]`.

    Raises:
        RuntimeError: the products differ, or `ind` is not positive.
        LinAlgError: the map is singular.

    Example:
        >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4)).shape
        torch.Size([4, 2, 2])
    """
    check_floating("linalg.tensorinv", A)
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: expected a strictly positive integer for 'ind', got {ind}")
    before, after = math.prod(A.shape[:ind]), math.prod(A.shape[ind:])
    if before != after:
        raise RuntimeError(
            f"linalg.tensorinv: expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {after} != {before}"
        )
    result = inv(A.reshape(before, after)).reshape(*A.shape[ind:], *A.shape[:ind])
    return filled("linalg.tensorinv", result, out)


@domain("A=real(a, b, 6), B=real(a, b)")
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The X with `tensordot(A, X, X.dim()) == B`.

    Args:
        A: shape B.shape + X.shape, with as many elements in one as in the other.
        dims: axes of A to move to the end first.

    Raises:
        RuntimeError: the sizes do not fit.
        LinAlgError: A is singular.

    Example:
        >>> torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), torch.ones(2, 2))
        tensor([1., 1., 1., 1.])
    """
    check_floating("linalg.tensorsolve", A, B)
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.dim() - len(dims), A.dim())))
    shape = A.shape[B.dim() :]
    if math.prod(shape) != B.numel() or A.numel() != B.numel() ** 2:
        raise RuntimeError(
            "linalg.tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {list(A.shape)} and {list(B.shape)}"
        )
    result = solve(A.reshape(B.numel(), math.prod(shape)), B.reshape(-1)).reshape(shape)
    return filled("linalg.tensorsolve", result, out)
