"""Making sparse tensors of indices and values or of dense tensors, and the checks of what is given."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any

import clew
from clew import Tensor

from .._core import asks_for_derivative
from .._device import check_device, sparse_coo, sparse_csc, sparse_csr, strided
from .._device import layout as Layout
from .._domains import domain
from .._size import Size
from ._tensor import SparseTensor, flat_places, in_layout, make


class check_sparse_tensor_invariants(ContextDecorator):
    """A context, or decorator, in which constructors check all that is claimed of indices.

    That indices lie inside the sizes is always checked; with this on, `is_coalesced=True` is, too.

    Example:
        >>> with torch.sparse.check_sparse_tensor_invariants():
        ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
        True
    """

    _on = False

    @staticmethod
    def is_enabled() -> bool:
        """Whether it is on."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """Turn it on."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        """Turn it off."""
        check_sparse_tensor_invariants._on = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted = enable
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(check_sparse_tensor_invariants._on)
        check_sparse_tensor_invariants._on = self._wanted

    def __exit__(self, *exc_info: object) -> None:
        check_sparse_tensor_invariants._on = self._before.pop()


def _integers(name: str, what: str, given: Any) -> Tensor:
    index = given.detach() if isinstance(given, Tensor) else clew.as_tensor(given)
    if isinstance(index, SparseTensor) or index.dtype.is_complex or index.dtype is clew.bool:
        raise RuntimeError(f"{name}: expected {what} as a strided tensor of integers, got {index.dtype}")
    return index.to(clew.int64)


def _entries(name: str, given: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """The values, with their history; never the user's own object, whose flags are its own."""
    check_device(device, name)
    if isinstance(given, SparseTensor):
        raise NotImplementedError(f"{name}: expected values as a strided tensor, got a sparse one")
    values = given if isinstance(given, Tensor) else clew.tensor(given, dtype=dtype)
    values = values if dtype is None else values.to(dtype)
    keeps = values.requires_grad or asks_for_derivative(values)
    values = values.view_as(values) if keeps else values.detach()
    return values.requires_grad_() if requires_grad else values


def _check_range(name: str, index: Tensor, sizes: Sequence[int]) -> None:
    if not index.shape[1]:
        return
    for axis, (low, high) in enumerate(zip(index.amin(1).tolist(), index.amax(1).tolist(), strict=True)):
        if low < 0:
            raise RuntimeError(f"{name}: found negative index {low} for dim {axis}; indices count from the front")
        if high >= sizes[axis]:
            raise RuntimeError(
                f"{name}: size is inconsistent with indices: for dim {axis}, size is {sizes[axis]} but found index "
                f"{high}; give a larger size"
            )


@domain("unsampled, 'it gives a sparse tensor'")
def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor in coordinate form: `values[k]` stands at `indices[:, k]`; values at one place add up.

    Args:
        indices: (sparse_dim, nnz), integers; or the size, if it is all that is given.
        values: (nnz, *dense sizes). Derivatives go to them.
        size: by default the smallest that holds all indices.
        requires_grad: a leaf of its own.
        is_coalesced: indices are in order, each place once. It is believed, unless `check_invariants`.

    Raises:
        RuntimeError: numbers of indices and values differ, an index lies outside of `size`, or the axes do not fit.

    Example:
        >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    name = "sparse_coo_tensor"
    if layout not in (None, sparse_coo):
        raise RuntimeError(f"{name}: expected layout {sparse_coo}, got {layout}")
    if values is None:
        size = Size(indices if size is None else size)
        indices, values, is_coalesced = clew.zeros(len(size), 0), clew.empty(0, dtype=dtype), True
    content, index = _entries(name, values, dtype, device, requires_grad), _integers(name, "indices", indices)
    if index.dim() != 2:
        raise RuntimeError(f"{name}: indices must be sparse_dim x nnz, but got: {list(index.shape)}")
    axes, nnz = index.shape
    if content.dim() == 0 or content.shape[0] != nnz:
        raise RuntimeError(
            f"{name}: indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: "
            f"{content.shape[0] if content.dim() else 'a number'}"
        )
    if size is None:
        if not nnz and axes:
            raise RuntimeError(f"{name}: cannot infer sizes from no indices; give size=")
        size = [*(largest + 1 for largest in (index.amax(1).tolist() if axes else [])), *content.shape[1:]]
    sizes = Size(size)
    if len(sizes) != axes + content.dim() - 1:
        raise RuntimeError(
            f"{name}: 'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(sizes)}, sparse_dim = "
            f"{axes}, dense_dim = {content.dim() - 1}"
        )
    if content.shape[1:] != sizes[axes:]:
        wanted = [nnz, *sizes[axes:]]
        raise RuntimeError(f"{name}: values has incorrect size, expected {wanted}, got {list(content.shape)}")
    _check_range(name, index, sizes)
    if is_coalesced and (check_sparse_tensor_invariants._on if check_invariants is None else check_invariants):
        flat = flat_places(index, sizes[:axes])
        if bool((flat[1:] <= flat[:-1]).any()):
            raise RuntimeError(
                f"{name}: cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )
    return make(index, content, sizes, bool(is_coalesced))


@domain("unsampled, 'it gives a sparse tensor'")
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix with compressed rows or columns, as `layout` says: `sparse_csr` or `sparse_csc`.

    Args:
        compressed_indices: (rows + 1): the entries of row i are from `compressed_indices[i]` to that of i + 1.
        plain_indices: (nnz), the column of each value. In `sparse_csc`, rows and columns are exchanged.
        values: (nnz). Derivatives go to them.
        size: by default the smallest.

    Raises:
        RuntimeError: indices do not fit each other, the values or the size.
        NotImplementedError: batches, entries that are tensors, and other layouts.

    Example:
        >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=torch.sparse_csr).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
    if layout not in (sparse_csr, sparse_csc):
        raise NotImplementedError(f"sparse_compressed_tensor: expected layout sparse_csr or sparse_csc, got {layout}")
    name, axis = f"{layout.name}_tensor", 0 if layout is sparse_csr else 1
    ends, places = _integers(name, "indices", compressed_indices), _integers(name, "indices", plain_indices)
    content = _entries(name, values, dtype, device, requires_grad)
    if ends.dim() != 1 or places.dim() != 1 or content.dim() != 1:
        raise NotImplementedError(f"{name}: expected indices and values of one axis; there are no batches and blocks")
    count = len(ends) - 1
    if len(places) != len(content):
        raise RuntimeError(f"{name}: expected as many indices as values, got {len(places)} and {len(content)}")
    if count < 0 or int(ends[0]) != 0 or int(ends[-1]) != len(places) or bool((ends[1:] < ends[:-1]).any()):
        raise RuntimeError(
            f"{name}: expected compressed indices that go from 0 to nnz = {len(places)} and never fall, got "
            f"{ends.tolist()[:8]}"
        )
    both = [clew.repeat_interleave(clew.arange(count), ends[1:] - ends[:-1]), places]
    if size is None:
        size = (count, int(places.max()) + 1 if len(places) else 0)[:: 1 if axis == 0 else -1]
    sizes = Size(size)
    if len(sizes) != 2 or sizes[axis] != count:
        raise RuntimeError(f"{name}: expected a size of 2 axes, of which {axis} has {count}, got {list(sizes)}")
    index = clew.stack(both if axis == 0 else both[::-1])
    _check_range(name, index, sizes)
    return make(index, content, sizes, False, layout, ends)


@domain("unsampled, 'it gives a sparse tensor'")
def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Tensor:
    """A sparse matrix with compressed rows: `sparse_compressed_tensor` with that layout, and the same options.

    Example:
        >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **{**options, "layout": sparse_csr})


@domain("unsampled, 'it gives a sparse tensor'")
def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Tensor:
    """A sparse matrix with compressed columns: `sparse_compressed_tensor` with that layout, and the same options.

    Example:
        >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
        tensor([[0., 4.],
                [3., 0.]])
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **{**options, "layout": sparse_csc})


def dense_to_sparse(self: Tensor, sparse_dim: Any = None, kind: Layout = sparse_coo) -> Tensor:
    """The entries of a dense tensor that are not zero."""
    if kind is strided:
        return self
    axes = self.dim() if sparse_dim is None else int(sparse_dim)
    if not 0 < axes <= self.dim() and axes != self.dim():
        raise IndexError(f"to_sparse: expected sparse_dim from 1 to {self.dim()}, got {sparse_dim}")
    if kind is not sparse_coo and (self.dim() != 2 or axes != 2):
        raise NotImplementedError(f"to_sparse: layout {kind} takes matrices, got {self.dim()} axes")
    present = self.detach() != 0
    if axes < self.dim():
        present = present.flatten(axes).any(-1)
    if axes == 0:
        count = int(present)
        return make(clew.zeros(0, count, dtype=clew.int64), self.reshape(1)[:count], self.shape, True)
    index = present.nonzero().t().contiguous()
    return in_layout(make(index, self[tuple(index)], self.shape, True), kind)
