"""The elements of one tensor repeated, rotated, cut, subtracted from their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .. import _core
from .._core import Tensor, dtype
from .._device import placed
from .._domains import domain
from ._options import need_values
from .creation_like import zeros_like
from .from_data import as_tensor
from .ranges import arange

__all__ = [
    "diff",
    "dsplit",
    "hsplit",
    "repeat_interleave",
    "split",
    "tril_indices",
    "triu_indices",
    "vsplit",
]
METHODS = ["diff", "dsplit", "hsplit", "repeat_interleave", "vsplit"]

_ops: Any = _core.ops
_LONGEST_LIST = 16  # that an operation's attributes have room for
_MOST_ELEMENTS = 2**57  # of eight bytes, that can be counted at all
_COUNTS = [_core.dtypes[name] for name in ("int32", "int64")]


@domain("tensor=real(d, a), split_size_or_sections=2; tensor=real(d, a), split_size_or_sections=(2, d - 2)")
def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts along an axis.

    Args:
        split_size_or_sections: the size of each part but the last, or the sizes of all parts.

    Raises:
        RuntimeError: the sizes do not sum to that of the axis.

    Example:
        >>> torch.split(torch.tensor([1, 2, 3]), 2)
        (tensor([1, 2]), tensor([3]))
    """
    sizes: Any = split_size_or_sections
    if isinstance(sizes, list | tuple) and len(sizes) > _LONGEST_LIST:
        return tuple(_ops._split_long(tensor, _core.from_numpy(numpy.array(sizes, numpy.int64)), dim))
    return tuple(_ops.split(tensor, sizes, dim))


def _split_along(name: str, x: Tensor, sections: Any, axis: int, least: int) -> tuple[Tensor, ...]:
    if x.dim() < least:
        raise RuntimeError(f"{name}: requires a tensor with at least {least} dimension(s), got {x.dim()}")
    if isinstance(sections, int) and (sections <= 0 or x.shape[axis] % sections):
        raise RuntimeError(
            f"{name}: attempted to split along dimension {axis}, but the size of the dimension {x.shape[axis]} is not "
            f"divisible by the split_size {sections}; use tensor_split"
        )
    return tuple(_ops.tensor_split(x, sections, axis))


@domain("input=real(a, c), indices_or_sections=2; input=real(d), indices_or_sections=(1, 3)")
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of parts along the second axis (a vector's only one).

    Args:
        indices_or_sections: the number of equal parts, or the indices before which to cut.

    Raises:
        RuntimeError: no axes, or a number that does not divide the size.

    Example:
        >>> torch.hsplit(torch.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1],
                [3]]), tensor([[2],
                [4]]))
    """
    return _split_along("hsplit", input, indices_or_sections, 0 if input.dim() == 1 else 1, 1)


@domain("input=real(c, a), indices_or_sections=2")
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of parts along the first axis. Arguments as for `hsplit`.

    Raises:
        RuntimeError: fewer than two axes, or a number that does not divide the size.

    Example:
        >>> torch.vsplit(torch.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


@domain("input=real(a, b, c), indices_or_sections=2")
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of parts along the third axis. Arguments as for `hsplit`.

    Raises:
        RuntimeError: fewer than three axes, or a number that does not divide the size.

    Example:
        >>> torch.dsplit(torch.tensor([[[1, 2]]]), 2)
        (tensor([[[1]]]), tensor([[[2]]]))
    """
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


@domain("real, repeats=2; real, repeats=index(3, b), dim=1")
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each slice along an axis repeated, the copies next to each other.

    Args:
        repeats: how often, for all slices or for each, int32 or int64. Without it, `input` holds the repeats, and the
            indices (0, 1, 2 ...) are repeated.
        dim: the axis; without it `input` is flattened.
        output_size: the size of the result; it is checked.

    Raises:
        RuntimeError: the repeats are no integers, negative, or not one for each slice.
        IndexError: there is no such axis.

    Example:
        >>> torch.repeat_interleave(torch.tensor([7, 8]), torch.tensor([1, 2]))
        tensor([7, 8, 8])
    """
    if repeats is None:
        if input.dim() != 1 or input.dtype not in _COUNTS:
            raise RuntimeError("repeat_interleave: repeats must be a vector of integers")
        return _repeated(input, output_size if input.numel() else None).to(input.dtype)
    if dim is None:
        input, dim = input.flatten(), 0
    if not input.dim():
        raise IndexError(f"repeat_interleave: expected a tensor with an axis {dim}, got a number; leave dim out")
    size = input.shape[dim]
    counts = repeats if isinstance(repeats, Tensor) else _core.tensor(repeats)
    if counts.dim() > 1 or counts.dtype not in _COUNTS:
        raise RuntimeError("repeat_interleave: repeats must be an integer, or a vector of integers")
    if counts.dim() == 1 and counts.numel() not in (1, size):
        raise RuntimeError(
            "repeat_interleave: repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {counts.numel()} and input.size({dim}) = {size}"
        )
    index = _repeated(counts.expand(size), output_size)
    result: Tensor = _ops.index_select(input, dim, index.to(input.device))
    return result


def _repeated(counts: Tensor, output_size: int | None) -> Tensor:
    """Each place of `counts` as often as it says. Only their sum is read: it is the size of the result."""
    need_values("repeat_interleave", counts)
    if not counts.numel():
        total = 0
    else:
        most = float(_ops.sum(counts, dtype=_core.dtypes["float64"]))
        if bool((counts < 0).any()):
            raise RuntimeError("repeat_interleave: repeats must be non-negative, got a negative one")
        if most > _MOST_ELEMENTS:
            raise RuntimeError(f"repeat_interleave: the result would have {most:.3g} elements; repeat less often")
        total = int(most)
    if output_size is not None and output_size != total:
        raise RuntimeError(
            f"repeat_interleave: expected an output_size that is the required size, {total}, got {output_size}"
        )
    ends = _ops.cumsum(counts, 0, dtype=_core.dtypes["int64"])
    begun = ends.new_zeros(total + 1).index_add(0, ends, ends.new_ones(ends.shape))
    index: Tensor = begun[:total].cumsum(0)
    return index


@domain("real; input=real(a, c), n=2; input=real(a, b), prepend=real(a, e)")
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along an axis, taken `n` times; of bools, whether they differ.

    Args:
        prepend, append: what stands before and after the input along the axis.

    Raises:
        RuntimeError: no axes, a negative `n`, or shapes that do not fit.

    Example:
        >>> torch.diff(torch.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    if input.dim() == 0:
        raise RuntimeError("diff: expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"diff: order must be non-negative but got {n}")
    for other in (prepend, append):
        if other is not None and other.dim() != input.dim():
            raise RuntimeError(
                f"diff: expects prepend or append to be the same dimension as input, not {other.dim()}, {input.dim()}"
            )
        if other is not None and other.narrow(dim, 0, 0).shape != input.narrow(dim, 0, 0).shape:
            raise RuntimeError(
                "diff: expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension, got {list(other.shape)} and {list(input.shape)}"
            )
    if n == 0:
        return zeros_like(input).copy_(input)  # what would go before and after it is left out
    parts = [x for x in (prepend, input, append) if x is not None]
    x = _ops.cat(parts, dim) if len(parts) > 1 else input
    is_bool = x.dtype == _core.dtypes["bool"]
    for _ in range(min(n, x.shape[dim])):
        size = x.shape[dim]
        later, earlier = _ops.narrow(x, dim, 1, size - 1), _ops.narrow(x, dim, 0, size - 1)
        x = later != earlier if is_bool else later - earlier
    return x


def _triangle_indices(first_row: int, starts: Tensor, ends: Tensor) -> Tensor:
    """The places of a triangle whose rows, from `first_row` on, go from `starts` to `ends`."""
    counts = ends - starts
    rows = _repeated(counts, None)
    before = counts.cumsum(0) - counts  # how many lie in the rows above
    columns = arange(rows.numel()) - (before - starts)[rows]
    result: Tensor = _ops.stack([rows + first_row, columns])
    return result


def _check_triangle(name: str, row: int, col: int, offset: int) -> int:
    """The offset, cut to where all diagonals beyond are alike."""
    for what, value in (("row", row), ("col", col), ("offset", offset)):
        if not isinstance(value, int):
            raise TypeError(f"{name}(): argument '{what}' must be int, not {type(value).__name__}")
    for what, size in (("row", row), ("col", col)):
        if size < 0:
            raise RuntimeError(f"{name}: {what} must be non-negative, got {size}")
        if size > _MOST_ELEMENTS:
            raise RuntimeError(f"{name}: {what} {size} is more than can be counted; make it smaller")
    return max(-row, min(offset, col))


@domain("row=3, col=4; row=3, col=3, offset=1")
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """The row and column indices of the lower triangle of a (row, col) matrix, of shape (2, count).

    Args:
        offset: the last diagonal of the triangle: 0 is the main one, positive ones are above it.
        dtype: int64 unless given.

    Example:
        >>> torch.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    offset = _check_triangle("tril_indices", row, col, offset)
    first = max(0, -offset) if col else row  # rows above have nothing
    with placed("cpu"):
        ends = (arange(first, row) + offset + 1).clamp(max=col)
        places = _triangle_indices(first, zeros_like(ends), ends)
    return as_tensor(places, dtype, device)


@domain("row=3, col=4; row=3, col=3, offset=1")
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """The row and column indices of the upper triangle of a (row, col) matrix, of shape (2, count).

    Args:
        offset: the first diagonal of the triangle: 0 is the main one, positive ones are above it.
        dtype: int64 unless given.

    Example:
        >>> torch.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    offset = _check_triangle("triu_indices", row, col, offset)
    last = min(row, max(0, col - offset))  # rows below have nothing
    with placed("cpu"):
        starts = (arange(last) + offset).clamp(min=0)
        places = _triangle_indices(0, starts, zeros_like(starts) + col)
    return as_tensor(places, dtype, device)
