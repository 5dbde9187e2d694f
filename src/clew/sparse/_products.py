"""Products of sparse and dense matrices, as operations of their own: each is the other's derivative."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy

import clew
from clew import Tensor

from .._core import asks_for_derivative
from .._operation import operation

_CHUNK = 1 << 16  # elements that are looked up at once
_HALF = (clew.float16, clew.bfloat16)


def _scipy() -> Any:
    try:
        return import_module("scipy.sparse")  # no dependency of clew
    except ImportError:
        return None


def _of_values(*arguments: Any) -> Any:
    return sparse_sampled(*arguments)


def _transposed(row: Any, column: Any, values: Any, other: Any, rows: int, columns: int) -> Any:
    return sparse_mm(column, row, values, other, rows=columns, columns=rows)


@operation(
    "_sparse_mm(Tensor row, Tensor column, Tensor values, Tensor other, *, int rows, int columns)",
    rules=(
        None,
        None,
        lambda g, row, column, other: _of_values(row, column, g, other.conj()),
        lambda g, row, column, values, rows, columns: _transposed(row, column, values.conj(), g, rows, columns),
    ),
    node="SparseAddmmBackward0",
    arrays=False,
    infer=lambda row, column, values, other, rows, columns: other.new_empty((rows, other.shape[1])),
    domain="unsampled, 'clew.sparse calls it'",
)
def sparse_mm(row: Any, column: Any, values: Any, other: Any, rows: int, columns: int) -> Any:
    """The matrix (rows, columns) with `values` at (row, column), times a dense matrix."""
    if values.dtype in _HALF:
        return sparse_mm(row, column, values.float(), other.float(), rows=rows, columns=columns).to(values.dtype)
    scipy = _scipy()
    if scipy is None:
        products = values.unsqueeze(1) * other.index_select(0, column)
        return other.new_zeros((rows, other.shape[1])).index_add(0, row, products)
    product = _matrix(scipy, row.numpy(), column.numpy(), values.numpy(), (rows, columns)) @ other.numpy()
    return clew.from_numpy(numpy.ascontiguousarray(product))


def _matrix(scipy: Any, row: Any, column: Any, values: Any, shape: tuple[int, int]) -> Any:
    """The matrix of SciPy's, compressed along the axis whose indices are in order, if one is."""
    for kind, outer, inner, size in (
        (scipy.csr_matrix, row, column, shape[0]),
        (scipy.csc_matrix, column, row, shape[1]),
    ):
        if (outer[1:] >= outer[:-1]).all():
            return kind((values, inner, numpy.searchsorted(outer, numpy.arange(size + 1))), shape=shape)
    return scipy.csr_matrix((values, (row, column)), shape=shape)


def sparse_product(left: Any, right: Any) -> tuple[Any, Tensor] | None:
    """Places, counted through the rows, and values of a product of sparse matrices that nobody differentiates."""
    scipy = _scipy()
    parts = left._content, right._content
    if scipy is None or any(one.requires_grad or asks_for_derivative(one) or one.dtype in _HALF for one in parts):
        return None
    factors = []
    for one in (left, right):
        row, column = one._index.numpy()
        factors.append(_matrix(scipy, row, column, one._content.detach().numpy(), tuple(one.shape)).tocsr())
    product = factors[0] @ factors[1]
    product.sort_indices()
    rows = numpy.repeat(numpy.arange(product.shape[0]), numpy.diff(product.indptr))
    return rows * product.shape[1] + product.indices, clew.from_numpy(product.data)


@operation(
    "_sparse_sampled(Tensor row, Tensor column, Tensor left, Tensor right)",
    rules=(
        None,
        None,
        lambda g, row, column, left, right: sparse_mm(
            row, column, g, right.conj(), rows=left.shape[0], columns=right.shape[0]
        ),
        lambda g, row, column, left, right: sparse_mm(
            column, row, g, left.conj(), rows=right.shape[0], columns=left.shape[0]
        ),
    ),
    node="SparseSampledBackward0",
    infer=lambda row, column, left, right: left.new_empty(row.shape),
    arrays=False,
    domain="unsampled, 'clew.sparse calls it'",
)
def sparse_sampled(row: Any, column: Any, left: Any, right: Any) -> Any:
    """Entries of `left @ right.T` at (row, column)."""
    if left.dtype in _HALF:
        return sparse_sampled(row, column, left.float(), right.float()).to(left.dtype)
    step = max(1, _CHUNK // max(1, left.shape[1]))
    lefts, rights = left.numpy(), right.numpy()
    rows, columns = row.numpy(), column.numpy()
    entries = numpy.empty(len(rows), lefts.dtype)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        numpy.einsum("ek,ek->e", lefts[rows[part]], rights[columns[part]], out=entries[part])
    return clew.from_numpy(entries)


def product_pairs(left: Any, right: Any, columns: int) -> tuple[Any, Any, Any, Any]:
    """For a product of two sparse matrices, from their indices: which entries meet, and where their products add up.

    Returns:
        Entries of the left matrix, those of the right one, the places of the result counted through its rows, and for
        each pair which of these places is its own.
    """
    order = numpy.argsort(right[0], kind="stable")
    begins = numpy.searchsorted(right[0][order], left[1])
    counts = numpy.searchsorted(right[0][order], left[1], side="right") - begins
    one = numpy.repeat(numpy.arange(left.shape[1]), counts)
    ends = numpy.cumsum(counts)
    within = numpy.arange(len(one)) - numpy.repeat(ends - counts, counts)
    other = order[numpy.repeat(begins, counts) + within]
    places, inverse = numpy.unique(left[0][one] * columns + right[1][other], return_inverse=True)
    return one, other, places, inverse.reshape(-1)


def matmul_dense(sparse: Any, other: Tensor) -> Tensor:
    """A sparse matrix times a dense matrix."""
    rows, columns = sparse.shape
    row, column = sparse._index
    product: Tensor = sparse_mm(row, column, sparse._content, other, rows=rows, columns=columns)
    return product
