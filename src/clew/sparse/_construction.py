"""Making sparse tensors: of indices and values, of dense tensors, of diagonals; and the checks of what is given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy

import clew
from clew import Tensor

from .._device import check_device, layout, sparse_coo, sparse_csc, sparse_csr, strided
from .._domains import domain
from .._size import Size
from ._tensor import SparseTensor, in_layout, make

_F = TypeVar("_F", bound=Callable[..., Any])


class check_sparse_tensor_invariants:
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

    def __call__(self, function: _F) -> _F:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._wanted):
                return function(*args, **kwargs)

        return checked  # type: ignore[return-value]


def _integers(name: str, what: str, given: Any) -> Tensor:
    index = given.detach() if isinstance(given, Tensor) else clew.as_tensor(given)
    if index.numel() == 0 and not isinstance(given, Tensor):
        index = index.to(clew.int64)
    if index.dtype.is_complex or index.dtype is clew.bool:
        raise RuntimeError(f"{name}: expected {what} of integers, got {index.dtype}")
    if isinstance(index, SparseTensor):
        raise NotImplementedError(f"{name}: expected {what} as a strided tensor, got a sparse one")
    return index.to(clew.int64)


def _entries(name: str, given: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """The values, with their history; never the user's own object, whose flags are its own."""
    check_device(device, name)
    if isinstance(given, SparseTensor):
        raise NotImplementedError(f"{name}: expected values as a strided tensor, got a sparse one")
    values = given if isinstance(given, Tensor) else clew.tensor(given, dtype=dtype)
    if dtype is not None:
        values = values.to(dtype)
    values = values.view_as(values) if values.requires_grad else values.detach()
    return values.requires_grad_() if requires_grad else values


def _check_range(name: str, index: Tensor, sizes: Sequence[int]) -> None:
    if not index.shape[1]:
        return
    low, high = index.amin(1).tolist(), index.amax(1).tolist()
    for axis, size in enumerate(sizes[: len(low)]):
        if low[axis] < 0:
            raise RuntimeError(f"{name}: found negative index {low[axis]} for dim {axis}; indices count from the front")
        if high[axis] >= size:
            raise RuntimeError(
                f"{name}: size is inconsistent with indices: for dim {axis}, size is {size} but found index "
                f"{high[axis]}; give a larger size"
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
        sizes = Size(indices if size is None else size)
        values = clew.empty(0, dtype=dtype)
        return make(
            clew.zeros(len(sizes), 0, dtype=clew.int64),
            _entries(name, values, None, device, requires_grad),
            sizes,
            True,
        )
    content = _entries(name, values, dtype, device, requires_grad)
    index = _integers(name, "indices", indices)
    if index.dim() != 2:
        raise RuntimeError(f"{name}: indices must be sparse_dim x nnz, but got: {list(index.shape)}")
    if content.dim() == 0:
        content = content.expand(index.shape[1]) if index.shape[1] == 1 else content
    if content.dim() == 0 or content.shape[0] != index.shape[1]:
        nnz = content.shape[0] if content.dim() else 1
        raise RuntimeError(
            f"{name}: indices and values must have same nnz, but got nnz from indices: {index.shape[1]}, nnz from "
            f"values: {nnz}"
        )
    if size is None:
        if not index.shape[1] and index.shape[0]:
            raise RuntimeError(f"{name}: cannot infer sizes from no indices; give size=")
        size = [largest + 1 for largest in index.amax(1).tolist()] + list(content.shape[1:]) if len(index) else []
        size = size or list(content.shape[1:])
    sizes = Size(size)
    if len(sizes) != index.shape[0] + content.dim() - 1:
        raise RuntimeError(
            f"{name}: 'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(sizes)}, sparse_dim = "
            f"{index.shape[0]}, dense_dim = {content.dim() - 1}"
        )
    if tuple(content.shape[1:]) != tuple(sizes[index.shape[0] :]):
        raise RuntimeError(
            f"{name}: values has incorrect size, expected {[index.shape[1], *sizes[index.shape[0] :]]}, got "
            f"{list(content.shape)}"
        )
    _check_range(name, index, sizes)
    made = make(index, content, sizes, bool(is_coalesced))
    if is_coalesced and (check_sparse_tensor_invariants._on if check_invariants is None else check_invariants):
        from ._tensor import flat_places

        flat = flat_places(index, sizes)
        if bool((flat[1:] <= flat[:-1]).any()):
            raise RuntimeError(
                f"{name}: cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )
    return made


def _sparse_compressed(
    name: str, kind: layout, pointer: Any, other: Any, values: Any, size: Any, dtype: Any, device: Any, grad: bool
) -> Tensor:
    axis = 0 if kind is sparse_csr else 1
    ends, places = _integers(name, "compressed indices", pointer), _integers(name, "plain indices", other)
    content = _entries(name, values, dtype, device, grad)
    if ends.dim() != 1 or places.dim() != 1 or content.dim() != 1:
        raise NotImplementedError(
            f"{name}: expected indices and values of one axis, got {ends.dim()}, {places.dim()} and {content.dim()}; "
            "batches and blocks are not supported"
        )
    if len(places) != len(content):
        raise RuntimeError(f"{name}: expected as many indices as values, got {len(places)} and {len(content)}")
    if not len(ends) or int(ends[0]) != 0 or int(ends[-1]) != len(places) or bool((ends[1:] < ends[:-1]).any()):
        raise RuntimeError(
            f"{name}: expected compressed indices that go from 0 to nnz = {len(places)} and never fall, got "
            f"{ends.tolist()[:8]}"
        )
    rows = clew.repeat_interleave(clew.arange(len(ends) - 1), ends[1:] - ends[:-1])
    if size is None:
        most = int(places.max()) + 1 if len(places) else 0
        size = (len(ends) - 1, most) if axis == 0 else (most, len(ends) - 1)
    sizes = Size(size)
    if len(sizes) != 2 or sizes[axis] != len(ends) - 1:
        raise RuntimeError(
            f"{name}: expected a size of 2 axes, {len(ends) - 1} in axis {axis}, for {len(ends)} compressed indices, "
            f"got {list(sizes)}"
        )
    index = clew.stack([rows, places] if axis == 0 else [places, rows])
    _check_range(name, index, sizes)
    return make(index, content, sizes, False, kind, ends)


@domain("unsampled, 'it gives a sparse tensor'")
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
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
    """A sparse matrix with compressed rows: those of row i are from `crow_indices[i]` to `crow_indices[i + 1]`.

    Args:
        crow_indices: (rows + 1), from 0 to nnz.
        col_indices: (nnz), the column of each value.
        values: (nnz). Derivatives go to them.
        size: by default the smallest.

    Raises:
        RuntimeError: indices do not fit each other, the values or the size.
        NotImplementedError: batches, and entries that are tensors.

    Example:
        >>> torch.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    return _sparse_compressed(
        "sparse_csr_tensor", sparse_csr, crow_indices, col_indices, values, size, dtype, device, requires_grad
    )


@domain("unsampled, 'it gives a sparse tensor'")
def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
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
    """A sparse matrix with compressed columns: as `sparse_csr_tensor`, with rows and columns exchanged.

    Example:
        >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
        tensor([[0., 4.],
                [3., 0.]])
    """
    return _sparse_compressed(
        "sparse_csc_tensor", sparse_csc, ccol_indices, row_indices, values, size, dtype, device, requires_grad
    )


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

    Example:
        >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=torch.sparse_csr).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
    if layout not in (sparse_csr, sparse_csc):
        raise NotImplementedError(f"sparse_compressed_tensor: expected layout sparse_csr or sparse_csc, got {layout}")
    given = compressed_indices, plain_indices, values, size, dtype, device, requires_grad
    return _sparse_compressed("sparse_compressed_tensor", layout, *given)


def dense_to_sparse(self: Tensor, sparse_dim: Any = None, kind: layout = sparse_coo) -> Tensor:
    """The entries of a dense tensor that are not zero."""
    if kind is strided:
        return self
    axes = self.dim() if sparse_dim is None else int(sparse_dim)
    if not 0 < axes <= self.dim() and not (axes == self.dim() == 0):
        raise IndexError(f"to_sparse: expected sparse_dim from 1 to {self.dim()}, got {sparse_dim}")
    if kind is not sparse_coo and (self.dim() != 2 or axes != 2):
        raise NotImplementedError(f"to_sparse: layout {kind} takes matrices, got {self.dim()} axes")
    plain = self.detach()
    present = plain != 0
    if axes < self.dim():
        present = present.flatten(axes).any(-1)
    index = present.nonzero().t().contiguous()
    if axes == 0:
        index, content = clew.zeros(0, int(present), dtype=clew.int64), self.reshape(1)[: int(present)]
    else:
        content = self[tuple(index)]
    return in_layout(make(index, content, self.shape, True), kind)


@domain("unsampled, 'it gives a sparse tensor'")
def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix of this shape with the rows of `diagonals` on the diagonals `offsets`.

    Column j of the matrix takes column j of `diagonals`.

    Raises:
        ValueError: numbers of diagonals and offsets differ, or an offset is there twice.

    Example:
        >>> torch.sparse.spdiags(torch.tensor([1.0, 2.0]), torch.tensor(0), (2, 2)).to_dense()
        tensor([[1., 0.],
                [0., 2.]])
    """
    rows = diagonals.reshape(1, -1) if diagonals.dim() == 1 else diagonals
    shifts = [int(one) for one in offsets.reshape(-1)]
    if rows.dim() != 2 or len(rows) != len(shifts) or len(set(shifts)) != len(shifts):
        raise ValueError(
            f"spdiags: expected a row of diagonals for each of different offsets, got {list(rows.shape)} and {shifts}"
        )
    height, width = shape
    columns = [numpy.arange(max(0, k), max(0, min(rows.shape[1], width, height + k))) for k in shifts]
    which = numpy.repeat(numpy.arange(len(shifts)), [len(one) for one in columns])
    column = numpy.concatenate(columns) if columns else numpy.zeros(0, numpy.int64)
    row = column - numpy.repeat(numpy.array(shifts, numpy.int64), [len(one) for one in columns])
    content = rows[clew.from_numpy(which), clew.from_numpy(column)]
    return in_layout(make(clew.from_numpy(numpy.stack([row, column])), content, Size(shape)), layout or sparse_coo)
