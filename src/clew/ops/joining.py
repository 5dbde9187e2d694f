"""Tensors fitted to each other: joined, broadcast, combined."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._size import broadcast_shapes

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_tensors",
    "cartesian_prod",
    "column_stack",
    "dstack",
    "hstack",
    "meshgrid",
    "row_stack",
    "vstack",
]

_ops: Any = _core.ops


def _each(tensors: tuple[Any, ...]) -> list[Tensor]:
    """Tensors given one by one or as one list."""
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        return list(tensors[0])
    return list(tensors)


def _listed(name: str, tensors: Any) -> Sequence[Tensor]:
    """The sequence of tensors, checked."""
    if not isinstance(tensors, list | tuple):
        raise TypeError(f"{name}(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}")
    for place, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name}(): expected Tensor as element {place} in argument 0, but got {type(x).__name__}; "
                "make a tensor of it"
            )
    if not tensors:
        raise RuntimeError(f"{name}(): expects a non-empty TensorList")
    return tensors


def _to_1d(x: Tensor) -> Tensor:
    return x.reshape(1) if x.dim() == 0 else x


def _to_2d(x: Tensor) -> Tensor:
    return x.reshape(1, 1) if x.dim() == 0 else x.unsqueeze(0) if x.dim() == 1 else x


def _to_3d(x: Tensor) -> Tensor:
    if x.dim() == 0:
        return x.reshape(1, 1, 1)
    if x.dim() == 1:
        return x.unsqueeze(0).unsqueeze(-1)
    return x.unsqueeze(-1) if x.dim() == 2 else x


def _result(tensors: tuple[Any, ...], converted: list[Tensor]) -> Any:
    return converted[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else tuple(converted)


@domain("tensors=[real()]; tensors=[real(b), real(a, b)]")
def atleast_1d(*tensors: Any) -> Any:
    """A view of each tensor with at least one dimension: of one tensor a tensor, of several a tuple.

    Example:
        >>> torch.atleast_1d(torch.tensor(3.0))
        tensor([3.])
    """
    return _result(tensors, [_to_1d(x) for x in _each(tensors)])


@domain("tensors=[real()]; tensors=[real(b), real(a, b)]")
def atleast_2d(*tensors: Any) -> Any:
    """A view of each tensor with at least two dimensions; a vector becomes a row.

    Example:
        >>> torch.atleast_2d(torch.tensor([1, 2]))
        tensor([[1, 2]])
    """
    return _result(tensors, [_to_2d(x) for x in _each(tensors)])


@domain("tensors=[real()]; tensors=[real(b), real(a, b)]")
def atleast_3d(*tensors: Any) -> Any:
    """A view of each tensor with at least three dimensions; a vector becomes (1, n, 1), a matrix (n, m, 1).

    Example:
        >>> torch.atleast_3d(torch.tensor([1, 2])).shape
        torch.Size([1, 2, 1])
    """
    return _result(tensors, [_to_3d(x) for x in _each(tensors)])


@domain("tensors=[real(a, b), real(a, c)]; tensors=[real(a), real(b)]")
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate horizontally: vectors along their axis, others along the second axis.

    Raises:
        RuntimeError: no tensors, or shapes that do not fit.

    Example:
        >>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3])])
        tensor([1, 2, 3])
    """
    parts = [_to_1d(x) for x in _listed("hstack", tensors)]
    result: Tensor = _ops.cat(parts, 0 if parts and parts[0].dim() == 1 else 1, out=out)
    return result


@domain("tensors=[real(b), real(a, b)]")
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate vertically, along the first axis; vectors are rows.

    Raises:
        RuntimeError: no tensors, or shapes that do not fit.

    Example:
        >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    result: Tensor = _ops.cat([_to_2d(x) for x in _listed("vstack", tensors)], 0, out=out)
    return result


row_stack = vstack


@domain("tensors=[real(a, b), real(a, b)]")
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate along the third axis, after `atleast_3d`.

    Raises:
        RuntimeError: no tensors, or shapes that do not fit.

    Example:
        >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[[1, 3],
                 [2, 4]]])
    """
    result: Tensor = _ops.cat([_to_3d(x) for x in _listed("dstack", tensors)], 2, out=out)
    return result


@domain("tensors=[real(a), real(a, b)]")
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Concatenate along the second axis; vectors are columns.

    Raises:
        RuntimeError: no tensors, or shapes that do not fit.

    Example:
        >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 3],
                [2, 4]])
    """
    parts = [x.reshape(-1, 1) if x.dim() <= 1 else x for x in _listed("column_stack", tensors)]
    result: Tensor = _ops.cat(parts, 1, out=out)
    return result


@domain("tensors=[real(b, e), real(c)]")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of all tensors, expanded to their common shape.

    Raises:
        RuntimeError: the shapes cannot be broadcast.

    Example:
        >>> a, b = torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(4))
        >>> a.shape == b.shape == (3, 4)
        True
    """
    parts = _each(tensors)
    shape = broadcast_shapes(*(x.shape for x in parts))
    return tuple(x if tuple(x.shape) == shape else x.expand(shape) for x in parts)


@domain("tensors=[real(a), real(b)], indexing='ij'; tensors=[real(a), real(b)], indexing='xy'")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of all points of a grid, one tensor for each axis: views of the inputs.

    Args:
        tensors: the coordinates along each axis, vectors or tensors of shape (), of one dtype.
        indexing: "ij" for axes in the order given; "xy" exchanges the first two.

    Raises:
        RuntimeError: no tensors, other shapes, different dtypes, or another `indexing`.

    Example:
        >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
        >>> x
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    parts = _each(tensors)
    if indexing is None:
        warnings.warn(
            "meshgrid: in an upcoming release, it will be required to pass the indexing argument; 'ij' is the default",
            UserWarning,
            stacklevel=2,
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not parts:
        raise RuntimeError("meshgrid: expects a non-empty list of tensors")
    for x in parts:
        if x.dim() > 1:
            raise RuntimeError(f"meshgrid: expected scalar or 1D tensor in the tensor list, got shape {list(x.shape)}")
        if x.dtype != parts[0].dtype:
            raise RuntimeError("meshgrid: expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(parts) >= 2
    if swap:
        parts[:2] = parts[1], parts[0]
    shape = [x.numel() for x in parts]
    grids = [x.view([-1 if i == axis else 1 for i in range(len(parts))]).expand(shape) for axis, x in enumerate(parts)]
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


@domain("tensors=[real(a), real(b)]")
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of the elements of vectors, one in each row, the last vector varying fastest.

    Raises:
        RuntimeError: one of them is no vector.

    Example:
        >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    parts = _each(tensors)
    for part in parts:
        if part.dim() != 1:
            raise RuntimeError(f"cartesian_prod: Expect a 1D vector, but got shape {list(part.shape)}")
    if len(parts) == 1:
        return parts[0]
    result: Tensor = _ops.stack([grid.flatten() for grid in meshgrid(*parts, indexing="ij")], 1)
    return result


@domain("tensors=[real(a, b), real(b), real()]")
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones along its diagonal and zeros elsewhere; vectors are rows.

    Example:
        >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([3]))
        tensor([[1, 2, 0],
                [0, 0, 3]])
    """
    blocks = _each(tensors)
    result: Tensor = _ops._block_diag(blocks) if blocks else _core.tensor([]).reshape(1, 0)
    return result
