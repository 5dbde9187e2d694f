"""Linear algebra of NumPy arrays: what LAPACK's face in NumPy does not give by itself.

NumPy raises if any matrix of a batch fails and does not say where. Here such a batch is done matrix by matrix, and a
code for each of them tells what was wrong with it, as in LAPACK: 0, or the place of the offending diagonal element,
counted from 1.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.linalg import LinAlgError

Array = numpy.ndarray[Any, Any]


def _lower(a: Array) -> Array:
    """The factors of finite numbers: of others LAPACK notices some, and makes zeros of some."""
    if not numpy.isfinite(numpy.tril(a)).all():
        raise LinAlgError
    return numpy.linalg.cholesky(a)


def cholesky(a: Array) -> tuple[Array, Array]:
    """Lower factors, from the lower triangles alone, and codes.

    Where a factorization stops, the columns before are done, the pivot is that which is not positive, and the rest is
    as it was, as LAPACK leaves it: methods of trust regions read it.
    """
    codes = numpy.zeros(a.shape[:-2], numpy.int32)
    try:
        return _lower(a), codes
    except LinAlgError:
        pass
    factors = numpy.tril(a)
    for place in numpy.ndindex(codes.shape):
        factor = factors[place]
        size = _definite_minor(a[place])
        factor[:size, :size] = _lower(a[place][:size, :size])
        if size < a.shape[-1]:
            below = numpy.linalg.solve(factor[:size, :size], factor[size:, :size].conj().T).conj().T
            factor[size:, :size] = below
            factor[size, size] -= (below[0] * below[0].conj()).sum()
            codes[place] = size + 1
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
