"""The three Fourier transforms that those of clew.fft are made of, over scipy.fft, or numpy.fft where SciPy is missing.

The sum over n of x[n] exp(-2πi kn/N) along some axes, or with +2πi. A sum over half of the frequencies and the real
part of one over all of them are each other's transposed, but for the weight of the frequencies that stand for two.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._operation import HIDDEN, operation

_ops: Any = _core.ops
# Divide by nothing, by the square root of the number of points, by the number: the libraries' names, by direction.
NORMS = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


@cache
def _library() -> Any:
    try:
        return import_module("scipy.fft")  # no dependency of clew, but faster than NumPy
    except ModuleNotFoundError:
        return numpy.fft


def _transform(name: str, x: Any, real: bool, **options: Any) -> Any:
    """A transform by its name, in the precision of x, which NumPy before 2.0 does not keep."""
    single = x.dtype in (numpy.float32, numpy.complex64)
    found = getattr(_library(), name)(x, **options)
    return found.astype(("float32" if real else "complex64") if single else found.dtype, copy=False)


def _multiplicity(half: Tensor, axis: int, last_dim_size: int) -> Tensor:
    """Of how many frequencies each along the axis holds the values: 2 where its negative was left out."""
    count: Tensor = half.new_full((half.shape[axis],), 1, dtype=half.dtype.to_real())
    count[1 : (last_dim_size + 1) // 2] = 2
    return count.reshape([-1 if place == axis % half.dim() else 1 for place in range(half.dim())])


@operation(
    "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward)",
    rules=(lambda g, dim, normalization, forward: _ops._fft_c2c(g, dim, normalization, not forward),),
    node="FftC2CBackward0",
    flags=HIDDEN,
    derivative="self",
    infer=lambda x, dim, normalization, forward: x.new_empty(x.shape),
    domain="self=complex(a, b), dim=[1], normalization=0, forward=True; "
    "self=complex(b, a, c), dim=[2, 0], normalization=1, forward=False",
)
def c2c(self: Any, dim: list[int], normalization: int, forward: bool) -> Any:
    """The sum over n of self[n] exp(∓2πi kn/N) along the axes, minus if `forward`.

    Example:
        >>> torch.fft.fft(torch.tensor([1 + 0j, 2, 3, 4]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _transform("fftn" if forward else "ifftn", self, False, axes=dim, norm=NORMS[forward][normalization])


def _transpose_of_r2c(g: Tensor, dim: list[int], normalization: int, onesided: bool, last_dim_size: int) -> Any:
    if not onesided:
        return _ops._fft_c2c(g, dim, normalization, False).real
    return _ops._fft_c2r(g / _multiplicity(g, dim[-1], last_dim_size), dim, normalization, last_dim_size)


@operation(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided, int last_dim_size)",
    rules=(_transpose_of_r2c,),
    node="FftR2CBackward0",
    flags=HIDDEN,
    derivative="self",
    infer=lambda x, dim, normalization, onesided, last_dim_size: x.new_empty(
        resized(x, dim[-1], last_dim_size // 2 + 1 if onesided else last_dim_size), dtype=x.dtype.to_complex()
    ),
    domain="self=real(a, b), dim=[1], normalization=0, onesided=True, last_dim_size=b; self=real(c, a, b), "
    "dim=[2, 0], normalization=1, onesided=True, last_dim_size=c; self=real(a, b), dim=[0, 1], normalization=2, "
    "onesided=False, last_dim_size=b",
)
def r2c(self: Any, dim: list[int], normalization: int, onesided: bool, last_dim_size: int) -> Any:
    """c2c of real numbers, forward; `onesided` without the frequencies above half of the last axis's, size //2 + 1.

    Example:
        >>> torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _transform("rfftn" if onesided else "fftn", self, False, axes=dim, norm=NORMS[True][normalization])


def resized(x: Tensor, axis: int, size: int) -> list[int]:
    """The shape of x with another size of this axis."""
    shape = list(x.shape)
    shape[axis] = size
    return shape


def _transpose_of_c2r(g: Tensor, dim: list[int], normalization: int, last_dim_size: int) -> Any:
    half = _ops._fft_r2c(g, dim, normalization, True, last_dim_size)
    return half * _multiplicity(half, dim[-1], last_dim_size)


@operation(
    "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size)",
    rules=(_transpose_of_c2r,),
    node="FftC2RBackward0",
    flags=HIDDEN,
    derivative="self",
    infer=lambda x, dim, normalization, last_dim_size: x.new_empty(
        resized(x, dim[-1], last_dim_size), dtype=x.dtype.to_real()
    ),
    domain="self=complex(a, b), dim=[1], normalization=2, last_dim_size=4; "
    "self=complex(b, a, c), dim=[2, 0], normalization=1, last_dim_size=5",
)
def c2r(self: Any, dim: list[int], normalization: int, last_dim_size: int) -> Any:
    """c2c backward of the numbers of which `self` is the half that r2c gives: real numbers.

    Example:
        >>> torch.fft.irfft(torch.tensor([10 + 0j, -2 + 2j, -2]))
        tensor([1., 2., 3., 4.])
    """
    sizes = [self.shape[axis] for axis in dim[:-1]]
    shape = (*sizes, last_dim_size)
    return _transform("irfftn", self, True, s=shape, axes=dim, norm=NORMS[False][normalization])
