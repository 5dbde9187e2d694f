"""Linear algebra of NumPy arrays: what LAPACK's face in NumPy does not give by itself.

NumPy raises if any matrix of a batch fails and does not say where. Here such a batch is done matrix by matrix, and a
code for each of them tells what was wrong with it, as in LAPACK: 0, or the place of the offending diagonal element,
counted from 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.linalg import LinAlgError

Array = numpy.ndarray[Any, Any]

_BLOCK = 32  # sizes up to this go to LAPACK as they are


def _lower(a: Array) -> Array:
    """The factors of finite numbers: of others LAPACK notices some, and makes zeros of some."""
    if not numpy.isfinite(numpy.tril(a)).all():
        raise LinAlgError
    return numpy.linalg.cholesky(a)


def cholesky(a: Array) -> tuple[Array, Array]:
    """Lower factors, from the lower triangles alone, and codes. Where a factorization stops, the rest is zeros."""
    codes = numpy.zeros(a.shape[:-2], numpy.int32)
    try:
        return _lower(a), codes
    except LinAlgError:
        pass
    factors = numpy.zeros_like(a)
    for place in numpy.ndindex(codes.shape):
        size = _definite_minor(a[place])
        factors[place][:size, :size] = _lower(a[place][:size, :size])
        codes[place] = 0 if size == a.shape[-1] else size + 1
    return factors, codes


def _definite_minor(a: Array) -> int:
    """The size of the largest leading minor that is positive-definite: all smaller ones are, too."""
    good, bad = 0, a.shape[-1] + 1
    while bad - good > 1:
        size = (good + bad) // 2
        try:
            _lower(a[:size, :size])
            good = size
        except LinAlgError:
            bad = size
    return good


def svd(a: Array, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular values and vectors of finite numbers. With others LAPACK may never come to an end."""
    if not numpy.isfinite(a).all():
        raise LinAlgError
    found: Any = numpy.linalg.svd
    return found(a, full_matrices, compute_uv)


def solve(a: Array, b: Array) -> tuple[Array, Array]:
    """X with a X = b, and codes; NaN for matrices that are singular."""
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = numpy.broadcast_to(b, batch + b.shape[-2:])
    codes = numpy.zeros(a.shape[:-2], numpy.int32)
    try:
        return numpy.linalg.solve(numpy.broadcast_to(a, batch + a.shape[-2:]), b), codes
    except LinAlgError:
        pass
    for place in numpy.ndindex(codes.shape):
        codes[place] = _singular_at(a[place])
    result = numpy.empty_like(b)
    a, wide_codes = numpy.broadcast_to(a, batch + a.shape[-2:]), numpy.broadcast_to(codes, batch)
    for place in numpy.ndindex(batch):
        result[place] = numpy.nan if wide_codes[place] else numpy.linalg.solve(a[place], b[place])
    return result, codes


def _singular_at(a: Array) -> int:
    """Which pivot of an LU decomposition is zero, from 1; 0 if LAPACK finds none."""
    try:
        numpy.linalg.inv(a)
    except LinAlgError:
        zero = numpy.flatnonzero(numpy.diagonal(lu(a)[0]) == 0)
        return int(zero[0]) + 1 if zero.size else a.shape[-1]  # another rounding may leave a pivot that is only tiny
    return 0


def lu(a: Array) -> tuple[Array, Array]:
    """L below the diagonal and U, in one; and the row that each step exchanged with its own, from 1 as in LAPACK."""
    a = numpy.array(a)
    rows, columns = a.shape[-2:]
    flat = a.reshape(math.prod(a.shape[:-2]), rows, columns)
    pivots = numpy.empty((len(flat), min(rows, columns)), numpy.int32)
    batch = numpy.arange(len(flat))
    for start in range(0, min(rows, columns), _BLOCK):
        end = min(start + _BLOCK, rows, columns)
        for k in range(start, end):
            chosen = k + abs(flat[:, k:, k]).argmax(1)
            pivots[:, k] = chosen + 1
            flat[batch, k], flat[batch, chosen] = flat[batch, chosen], flat[batch, k]
            divisor = flat[:, k, k, None]
            flat[:, k + 1 :, k] /= numpy.where(divisor == 0, 1, divisor)
            flat[:, k + 1 :, k + 1 : end] -= flat[:, k + 1 :, k, None] * flat[:, k, None, k + 1 : end]
        right = flat[:, start:end, end:]
        right[...] = substitute(flat[:, start:end, start:end], right, upper=False, unitriangular=True)
        flat[:, end:, end:] -= flat[:, end:, start:end] @ right
    return a, pivots.reshape(*a.shape[:-2], pivots.shape[1])


def zero_on_diagonal(a: Array) -> Array:
    """Codes: which element of each diagonal is the first zero."""
    zero = numpy.diagonal(a, axis1=-2, axis2=-1) == 0
    return numpy.where(zero.any(-1), zero.argmax(-1) + 1 if zero.shape[-1] else 0, 0).astype(numpy.int32)


def substitute(a: Array, b: Array, *, upper: bool, unitriangular: bool) -> Array:
    """X with a X = b for triangular matrices, of which nothing but the triangle is read."""
    if upper:
        return _back(a, b, unitriangular)
    return _back(a[..., ::-1, ::-1], b[..., ::-1, :], unitriangular)[..., ::-1, :]


def _back(a: Array, b: Array, unit: bool) -> Array:
    """Back substitution by halves: most of the work is a product of matrices."""
    size = a.shape[-1]
    if size <= _BLOCK:
        return _back_in_block(a, b, unit)
    half = size // 2
    below = _back(a[..., half:, half:], b[..., half:, :], unit)
    above = _back(a[..., :half, :half], b[..., :half, :] - a[..., :half, half:] @ below, unit)
    return numpy.concatenate((above, below), -2)  # both have the batch of a and b together


def _back_in_block(a: Array, b: Array, unit: bool) -> Array:
    a = numpy.triu(a)
    if unit:
        numpy.einsum("...ii->...i", a)[...] = 1
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = numpy.broadcast_to(b, batch + b.shape[-2:])
    # LAPACK exchanges no rows of an upper triangle: this is substitution, of finite numbers.
    if numpy.einsum("...ii->...i", a).all() and numpy.isfinite(b).all():
        return numpy.linalg.solve(numpy.broadcast_to(a, batch + a.shape[-2:]), b)
    result = numpy.array(b)
    with numpy.errstate(all="ignore"):
        for row in reversed(range(a.shape[-1])):
            result[..., row, :] -= (a[..., row, None, row + 1 :] @ result[..., row + 1 :, :])[..., 0, :]
            result[..., row, :] /= a[..., row, row, None]
    return result
