"""The class of sparse tensors.

Note [What a sparse tensor is]
An object of a subclass of Tensor whose storage has no memory: it has a shape and a dtype, and two tensors hold the
rest. `_index` (sparse_dim, nnz) has the place of each entry, `_content` (nnz, *dense sizes) its value. Operations are
compositions over these two, so that derivatives are those of `_content`, which carries the history. An operation that
is not in `TABLE` raises `NotImplementedError`: no kernel ever takes the object itself.

A compressed tensor (CSR, CSC) has its entries in the order of rows (columns), and their ends in `_pointer`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy

import clew
from clew import Tensor

from .._device import CPU, sparse_coo, sparse_csc, sparse_csr, strided
from .._device import layout as Layout
from .._size import Size
from .._subclass import DisableTorchFunctionSubclass

TABLE: dict[str, Callable[..., Any]] = {}  # operations by name; _operations.py fills it
_BOOL, _INT64 = clew.bool, clew.int64
# What asks for nothing but the shape, the dtype, or the place of a tensor.
_PLAIN_NAMES = """
    shape dtype ndim size dim ndimension numel nelement element_size itemsize is_floating_point is_complex
    is_signed is_cuda is_quantized is_mps get_device is_same_size names __len__ __hash__ __dir__ __dict__
    __class__ nbytes is_inference is_conj is_neg is_pinned is_shared output_nr retains_grad
    _base _cdata is_nested _is_view _lost _last_write _storage_id _storage_nbytes _held_node _is_wrapped_number
"""
_PLAIN = frozenset(_PLAIN_NAMES.split())


class SparseTensor(Tensor):
    """A tensor of which only some entries are stored; see `sparse_coo_tensor` and `sparse_csr_tensor`."""

    _index: Tensor
    _content: Tensor
    _coalesced: bool
    _kind: Layout
    _pointer: Tensor | None
    _given_grad: tuple[Any, Any] | None  # the gradient of the content with its version; the sparse tensor that shows it

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__"):
            owner = getattr(func, "__self__", None)
            name = next((each for each, member in vars(Tensor).items() if member is owner), name)
        if name in _PLAIN:
            with DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        known = TABLE.get(name)
        if known is None and name in cls.__dict__ and args and isinstance(args[0], cls):
            member = cls.__dict__[name]
            known = member.fget if isinstance(member, property) and len(args) == 1 else member
            if isinstance(member, property) and len(args) == 2:
                known = member.fset
        if known is None:
            raise unsupported(name)
        return known(*args, **(kwargs or {}))

    # What it is ------------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """`sparse_coo`, `sparse_csr` or `sparse_csc`."""
        return self._kind

    @property
    def is_sparse(self) -> bool:
        """Whether it is in coordinate form."""
        return self._kind is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """Whether its rows are compressed."""
        return self._kind is sparse_csr

    @property
    def device(self) -> Any:
        """The CPU."""
        return CPU

    is_meta = property(lambda self: False)
    is_cpu = property(lambda self: True)
    _version = property(lambda self: self._content._version)

    def sparse_dim(self) -> int:
        """How many axes are sparse."""
        return self._index.shape[0]

    def dense_dim(self) -> int:
        """How many axes are those of an entry."""
        return self._content.dim() - 1

    def _nnz(self) -> int:
        return self._index.shape[1]

    def is_coalesced(self) -> bool:
        """Whether entries are in order and each place has one."""
        need_coo(self, "is_coalesced")
        return self._coalesced

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        self._coalesced = coalesced
        return self

    def indices(self) -> Tensor:
        """The places of a coalesced tensor (sparse_dim, nnz)."""
        need_coo(self, "indices")
        if not self._coalesced:
            raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
        return self._index.detach()

    def values(self) -> Tensor:
        """The entries (nnz, *dense sizes); derivatives go through them."""
        if self._kind is sparse_coo and not self._coalesced:
            raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
        return self._content.view_as(self._content)

    def _indices(self) -> Tensor:
        need_coo(self, "_indices")
        return self._index.detach()

    def _values(self) -> Tensor:
        need_coo(self, "_values")
        return self._content.detach()

    def _compressed(self, name: str, kind: Layout, axis: int | None) -> Tensor:
        if self._kind is not kind or self._pointer is None:
            raise RuntimeError(f"{name} expected a tensor of layout {kind}, got {self._kind}; convert it first")
        return (self._pointer if axis is None else self._index[axis]).detach()

    def crow_indices(self) -> Tensor:
        """Where each row's entries end, after a 0 (rows + 1)."""
        return self._compressed("crow_indices", sparse_csr, None)

    def col_indices(self) -> Tensor:
        """The column of each entry (nnz)."""
        return self._compressed("col_indices", sparse_csr, 1)

    def ccol_indices(self) -> Tensor:
        """Where each column's entries end, after a 0 (columns + 1)."""
        return self._compressed("ccol_indices", sparse_csc, None)

    def row_indices(self) -> Tensor:
        """The row of each entry (nnz)."""
        return self._compressed("row_indices", sparse_csc, 0)

    # Autograd --------------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded."""
        return self._content.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Whether operations on it shall be recorded."""
        self._content.requires_grad_(requires_grad)
        return self

    grad_fn = property(lambda self: self._content.grad_fn)
    is_leaf = property(lambda self: self._content.is_leaf)

    @property
    def grad(self) -> Tensor | None:
        """The gradient of a leaf: a sparse tensor of its entries."""
        found = self._content.grad
        if found is None:
            return None
        state = found, found._version
        if self._given_grad is None or self._given_grad[0][0] is not found or self._given_grad[0][1] != state[1]:
            self._given_grad = state, gradient_of(self, found)
        shown: Tensor = self._given_grad[1]
        return shown

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._content.grad = None
        elif isinstance(value, SparseTensor) and value._nnz() == self._nnz():
            self._content.grad = value._content.detach()
        else:
            raise NotImplementedError("grad: expected None or a sparse tensor of the same entries; take to_dense()")

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call `hook(grad)` with its gradient, a sparse tensor."""

        def of_content(gradient: Tensor) -> Tensor | None:
            changed = hook(alike(self, gradient))
            return changed._content if isinstance(changed, SparseTensor) else None

        return self._content.register_hook(of_content)

    def retain_grad(self) -> None:
        """Keep the gradient, of a tensor that is no leaf."""
        self._content.retain_grad()

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Not supported: raises NotImplementedError."""
        raise NotImplementedError("backward: expected a strided tensor, got a sparse one; reduce it (sparse.sum) first")

    @property
    def data(self) -> SparseTensor:
        """The same entries outside the graph."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        with clew.no_grad():
            self.copy_(value)

    def detach(self) -> SparseTensor:
        """The same entries without history."""
        return alike(self, self._content.detach())

    def detach_(self) -> SparseTensor:
        """Cut its history."""
        self._content = self._content.detach()
        return self

    def share_memory_(self) -> SparseTensor:
        """Itself, its entries in memory that processes share."""
        self._content.share_memory_()
        return self

    # Copies and other libraries --------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[Any, Any]) -> SparseTensor:
        if id(self) not in memo:
            content = copy.deepcopy(self._content, memo)
            made = make(self._index.clone(), content, self.shape, self._coalesced, self._kind, self._pointer)
            memo[id(self)] = made
        found: SparseTensor = memo[id(self)]
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if not self.is_leaf:
            raise RuntimeError("pickle: only leaves can be pickled, got a tensor with a history; pickle x.detach()")
        parts = (self._index, self._content.detach(), tuple(self.shape), self._coalesced, self._kind, self._pointer)
        return _unpickled, (*parts, self.requires_grad)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from ._repr import text

        return text(self)

    __str__ = __repr__

    def __format__(self, format_spec: str) -> str:
        return object.__format__(self, format_spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def numpy(self, *, force: bool = False) -> Any:
        """Not supported: raises TypeError."""
        return self.__array__()


def _refuses(name: str) -> Callable[..., Any]:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise unsupported(name)

    refuse.__name__ = name
    refuse.__doc__ = "Not supported for sparse tensors: raises NotImplementedError."
    return refuse


# Of those that no operation stands behind. The others are refused on their way to a kernel.
_REFUSED = """
    item tolist stride storage_offset data_ptr is_contiguous contiguous numpy_force storage untyped_storage
    as_subclass apply_ map_ __bool__ __float__ __int__ __index__ __complex__ __contains__ __dlpack__ __setitem__
    __reversed__ is_set_to is_nonzero resize_ resize_as_ set_ sparse_resize_ sparse_resize_and_clear_
    to_sparse_bsr to_sparse_bsc view view_as reshape forward new_tensor _gradient_edge _add_accumulate_hook
    register_post_accumulate_grad_hook
"""
for _name in _REFUSED.split():
    setattr(SparseTensor, _name, _refuses(_name))


def unsupported(name: str, why: str = "") -> NotImplementedError:
    """The error for an operation that sparse tensors do not have."""
    reason = why or "this operation has no sparse form here"
    return NotImplementedError(f"{name}: expected strided tensors, got a sparse one; {reason}: take its to_dense()")


def need_coo(sparse: SparseTensor, name: str) -> None:
    """Refuse a compressed tensor."""
    if sparse._kind is not sparse_coo:
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {sparse._kind}; convert it by to_sparse_coo()"
        )


def make(
    index: Tensor,
    content: Tensor,
    shape: Any,
    coalesced: bool = False,
    kind: Layout = sparse_coo,
    pointer: Tensor | None = None,
) -> SparseTensor:
    """A sparse tensor of these parts, which fit."""
    made: Any = Tensor._make_sparse(SparseTensor, tuple(shape), content)
    made._index, made._content, made._kind = index, content, kind
    made._coalesced = coalesced or (kind is sparse_coo and index.shape[1] < 2)
    made._pointer, made._given_grad = pointer, None
    found: SparseTensor = made
    return found


def alike(sparse: SparseTensor, content: Tensor) -> SparseTensor:
    """Other entries at the same places."""
    shape = (*sparse.shape[: sparse.sparse_dim()], *content.shape[1:])
    return make(sparse._index, content, shape, sparse._coalesced, sparse._kind, sparse._pointer)


def adopt(sparse: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Give a tensor the entries of another of its shape, dtype and layout, in place."""
    if other.dtype is not sparse.dtype:
        raise RuntimeError(f"result type {other.dtype} can't be cast to the desired output type {sparse.dtype}")
    if sparse._content.is_leaf and sparse.requires_grad and clew.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if other._index is sparse._index and not sparse.requires_grad and not other.requires_grad:
        sparse._content.copy_(other._content)  # others may look at its values
        return sparse
    sparse._index, sparse._content, sparse._coalesced = other._index, other._content, other._coalesced
    sparse._pointer = other._pointer
    return sparse


def flat_places(index: Tensor, sizes: Any) -> Tensor:
    """The places (nnz) counted through all sparse axes."""
    flat = index.new_zeros(index.shape[1])
    for axis, size in enumerate(sizes):
        flat = flat * size + index[axis]
    return flat


def unflattened(flat: Any, sizes: Any) -> Tensor:
    """The places (sparse_dim, nnz) of positions that NumPy counted through all axes of these sizes."""
    if not sizes:
        return clew.zeros(0, len(flat), dtype=_INT64)
    axes = numpy.unravel_index(flat, tuple(sizes)) if len(flat) else [flat] * len(sizes)
    return clew.from_numpy(numpy.stack(axes).astype(numpy.int64, copy=False))


def sum_into(count: int, places: Tensor, content: Tensor) -> Tensor:
    """Entries that are added up at their places: `count` of them, zeros where there is none."""
    if content.dtype is _BOOL:
        return sum_into(count, places, content.to(clew.uint8)) > 0
    return content.new_zeros((count, *content.shape[1:])).index_add(0, places, content)


def coalesced(sparse: SparseTensor) -> SparseTensor:
    """In order, with one entry at each place: itself if it is."""
    if sparse._coalesced or sparse._kind is not sparse_coo:
        return sparse
    sizes = sparse.shape[: sparse.sparse_dim()]
    flat = flat_places(sparse._index, sizes).numpy()
    if len(flat) < 2 or bool((flat[1:] > flat[:-1]).all()):
        content = sparse._content.view_as(sparse._content)
        return make(sparse._index, content, sparse.shape, True)
    places, inverse = numpy.unique(flat, return_inverse=True)
    content = sum_into(len(places), clew.from_numpy(inverse.reshape(-1)), sparse._content)
    return make(unflattened(places, sizes), content, sparse.shape, True)


def gradient_of(sparse: SparseTensor, gradient: Tensor) -> SparseTensor:
    """The gradient of a sparse leaf from that of its entries: one for each place, not for each entry."""
    if sparse._coalesced or sparse._kind is not sparse_coo:
        return alike(sparse, gradient)
    sizes = sparse.shape[: sparse.sparse_dim()]
    places, first = numpy.unique(flat_places(sparse._index, sizes).numpy(), return_index=True)
    return make(unflattened(places, sizes), gradient[clew.from_numpy(first)], sparse.shape, True)


def to_coo(sparse: SparseTensor) -> SparseTensor:
    """In coordinate form: itself if it is."""
    if sparse._kind is sparse_coo:
        return sparse
    return make(sparse._index, sparse._content, sparse.shape, sparse._kind is sparse_csr)


def compressed(sparse: SparseTensor, kind: Layout) -> SparseTensor:
    """With compressed rows (`sparse_csr`) or columns (`sparse_csc`)."""
    if sparse._kind is kind:
        return sparse
    if sparse.dim() != 2 or sparse.sparse_dim() != 2:
        raise NotImplementedError(f"{kind}: expected a matrix, got {sparse.dim()} axes; batches are not supported")
    sorted_ = coalesced(to_coo(sparse))
    index, content, axis = sorted_._index, sorted_._content, 0
    if kind is sparse_csc:
        order = clew.from_numpy(numpy.argsort(index[1].numpy(), kind="stable"))
        index, content, axis = index[:, order], content[order], 1
    counts = numpy.bincount(index[axis].numpy(), minlength=sparse.shape[axis])
    pointer = clew.from_numpy(numpy.concatenate([[0], numpy.cumsum(counts)]).astype(numpy.int64))
    return make(index, content, sparse.shape, False, kind, pointer)


def in_layout(sparse: SparseTensor, kind: Layout) -> Tensor:
    """The same tensor in another layout."""
    if kind is sparse_coo:
        return to_coo(sparse)
    if kind in (sparse_csr, sparse_csc):
        return compressed(sparse, kind)
    if kind is strided:
        dense: Tensor = sparse.to_dense()
        return dense
    raise NotImplementedError(f"to_sparse: layout {kind} is not supported; use sparse_coo, sparse_csr or sparse_csc")


def _unpickled(index: Tensor, content: Tensor, shape: Any, merged: bool, kind: Any, pointer: Any, grad: bool) -> Any:
    return make(index, content, Size(shape), merged, kind, pointer).requires_grad_(grad)


__all__ = ["SparseTensor"]
