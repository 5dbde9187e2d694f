"""Sparse tensors: products, sums and softmax of them; see `sparse_coo_tensor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import clew
from clew import Tensor, _core, dtype

from .._device import sparse_coo
from .._domains import domain
from .._methods import publish
from .._unsupported import missing_from as _missing_from
from . import _gradients as _gradients
from . import _operations
from ._construction import check_sparse_tensor_invariants
from ._construction import sparse_compressed_tensor as _compressed_tensor
from ._construction import sparse_coo_tensor as _coo_tensor
from ._construction import sparse_csc_tensor as _csc_tensor
from ._construction import sparse_csr_tensor as _csr_tensor
from ._tensor import SparseTensor

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "sum"]

sparse_coo_tensor, sparse_csr_tensor, sparse_csc_tensor = _coo_tensor, _csr_tensor, _csc_tensor
sparse_compressed_tensor = _compressed_tensor


def _need_sparse(name: str, *tensors: Any) -> None:
    if not any(isinstance(one, SparseTensor) for one in tensors):
        raise RuntimeError(f"sparse.{name}: expected a sparse tensor, got strided ones; use to_sparse()")


@domain("unsampled, 'it takes a sparse tensor'")
def mm(sparse: Tensor, dense: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix (n, m) and a matrix (m, k), sparse or not; two sparse ones give a sparse one.

    The derivative for a sparse factor is that of its entries. With `reduce` ("mean", "amax", "amin") the products of a
    row are not added up but reduced by that; a row without entries gives zeros.

    Raises:
        RuntimeError: no factor is sparse, or sizes or dtypes do not fit.

    Example:
        >>> matrix = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> torch.sparse.mm(matrix, torch.tensor([[1.0], [10.0]]))
        tensor([[20.],
                [ 3.]])
    """
    _need_sparse("mm", sparse, dense)
    if reduce not in (None, "sum"):
        return _operations.mm_reduced(sparse, dense, reduce)
    return _operations.mm(sparse, dense)


@domain("unsampled, 'it takes a sparse tensor'")
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, sparse or not.

    Example:
        >>> torch.spmm(torch.sparse_coo_tensor([[0], [1]], [2.0], (1, 2)), torch.tensor([[1.0], [10.0]]))
        tensor([[20.]])
    """
    return input.mm(mat2)


publish(["spmm"], globals(), __name__)
dsmm = hsmm = spmm


@domain("unsampled, 'it takes a sparse tensor'")
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`, of a dense matrix, a sparse and a dense one.

    Example:
        >>> matrix = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> torch.sparse.addmm(torch.ones(2, 1), matrix, torch.tensor([[1.0], [10.0]]))
        tensor([[21.],
                [ 4.]])
    """
    _need_sparse("addmm", mat1, mat2)
    return _operations.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


@domain("unsampled, 'it takes a sparse tensor'")
def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: dtype | None = None) -> Tensor:
    """The sum over all axes, or over `dim`; sparse if sparse axes are left.

    Example:
        >>> torch.sparse.sum(torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)))
        tensor(5.)
    """
    _need_sparse("sum", input)
    return _operations.sparse_sum(input, dim, dtype=dtype)  # type: ignore[arg-type]


@domain("unsampled, 'it takes a sparse tensor'")
def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Softmax along an axis. Elements that are not stored count as minus infinity, and stay so.

    Example:
        >>> matrix = torch.sparse_coo_tensor([[0, 0], [1, 0]], [2.0, 2.0], (2, 2))
        >>> torch.sparse.softmax(matrix, 1).to_dense()
        tensor([[0.5000, 0.5000],
                [0.0000, 0.0000]])
    """
    _need_sparse("softmax", input)
    return _operations.softmax(input, dim, dtype, False)  # type: ignore[arg-type]


@domain("unsampled, 'it takes a sparse tensor'")
def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The logarithm of `softmax`.

    Example:
        >>> matrix = torch.sparse_coo_tensor([[0, 0], [1, 0]], [2.0, 2.0], (2, 2))
        >>> torch.sparse.log_softmax(matrix, 1).to_dense()
        tensor([[-0.6931, -0.6931],
                [ 0.0000,  0.0000]])
    """
    _need_sparse("log_softmax", input)
    return _operations.softmax(input, dim, dtype, True)  # type: ignore[arg-type]


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where the entries of each row end, after a 0 (size + 1), from the sorted row of each entry."""
    ends = clew.searchsorted(input, clew.arange(size + 1, dtype=input.dtype))
    return ends.to(clew.int32 if out_int32 else clew.int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The row and the column of each entry (2, nnz); with `transpose` the column first."""
    rows = clew.repeat_interleave(clew.arange(len(crow_indices) - 1), crow_indices[1:] - crow_indices[:-1])
    both = [col_indices, rows] if transpose else [rows, col_indices]
    return clew.stack([one.to(clew.int32 if out_int32 else clew.int64) for one in both])


class _TypedConstructor(type):
    """What `sparse.FloatTensor` and the others are: constructors, and questions about layout and dtype."""

    dtype: dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if args and isinstance(args[0], Tensor):
            return sparse_coo_tensor(*args, dtype=cls.dtype, device=device)
        sizes = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        return sparse_coo_tensor(sizes, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, SparseTensor) and instance.layout is sparse_coo and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


for _name, _kind in {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
}.items():
    globals()[_name] = _TypedConstructor(
        _name,
        (),
        {"__module__": "torch.sparse", "dtype": _core.dtypes[_kind], "__doc__": f"Sparse tensors of {_kind}."},
    )

__getattr__ = _missing_from(__name__)
