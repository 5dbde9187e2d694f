"""What the transforms share: which axes and sizes a call means, its checks, and the input cut or padded to them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._out import filled
from ..ops._options import axis_of
from ._operations import c2c, c2r, r2c

_ops: Any = _core.ops
Sizes = int | Sequence[int] | None
# Of forward and inverse transforms. Divide by nothing, by the root of the number of points, by the number.
_NORMS = {"backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}


def promoted(name: str, input: Any, *, to_complex: bool = False) -> Tensor:
    """The input in a dtype of which there is a transform; integers in the default one."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    kind = input.dtype
    if not (kind.is_floating_point or kind.is_complex):
        kind = _core.get_default_dtype()
    if kind.itemsize < (8 if kind.is_complex else 4):
        raise RuntimeError(f"{name}: Unsupported dtype {kind}; use float32 or float64")
    return input.to(kind.to_complex() if to_complex else kind)


def real(name: str, input: Any) -> Tensor:
    """The promoted input, which has to be real."""
    if isinstance(input, Tensor) and input.is_complex():
        raise RuntimeError(f"{name}: expects a real input tensor, but got {input.dtype}; use fft, or input.real")
    return promoted(name, input)


def planned(
    name: str,
    input: Tensor,
    s: Sizes,
    dim: Sizes,
    norm: str | None,
    forward: bool,
    some: bool = False,
    of_half: bool = False,
) -> tuple[list[int], list[int], int]:
    """The axes counted from the first, the numbers of points along them, and the norm as operations call it.

    Args:
        some: there has to be an axis.
        of_half: the input holds the first half along the last axis.
    """
    sizes = None if s is None else _listed(s)
    axes = _axes(name, input, sizes, dim)
    if some and not axes:
        raise RuntimeError(f"{name}: must transform at least one axis, got dim={dim} of an input of {input.dim()}")
    own = [input.shape[axis] for axis in axes]
    if of_half:
        own[-1] = 2 * (own[-1] - 1)
    points = own if sizes is None else [old if new == -1 else new for new, old in zip(sizes, own, strict=True)]
    if norm is not None and norm not in _NORMS:
        raise RuntimeError(f'{name}: Invalid normalization mode: "{norm}"; use "forward", "backward" or "ortho"')
    return axes, points, _NORMS[norm or "backward"][0 if forward else 1]


def _axes(name: str, input: Tensor, sizes: list[int] | None, dim: Sizes) -> list[int]:
    if dim is None:
        count = input.dim() if sizes is None else len(sizes)
        if count > input.dim():
            raise RuntimeError(
                f"{name}: Got shape with {count} values but input tensor only has {input.dim()} dimensions."
            )
        return list(range(input.dim() - count, input.dim()))
    axes = [axis_of(name, input, one, of_number=False) for one in _listed(dim)]
    if len(set(axes)) < len(axes):
        raise RuntimeError(f"{name}: FFT dims must be unique, got {dim}")
    if sizes is not None and len(sizes) != len(axes):
        raise RuntimeError(
            f"{name}: When given, dim and shape arguments must have the same length; got {len(axes)} axes and "
            f"{len(sizes)} sizes"
        )
    return axes


def _listed(value: int | Sequence[int]) -> list[int]:
    return [operator.index(one) for one in (value if isinstance(value, Sequence) else [value])]


def points(name: str, n: int | None) -> list[int] | None:
    """The sizes for one axis, where -1 has no meaning."""
    if n is not None:
        n = operator.index(n)
        _check_points(name, [n])
    return None if n is None else [n]


def _check_points(name: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        if size < 1:
            raise RuntimeError(f"{name}: Invalid number of data points ({size}) specified; at least 1 is needed")


def check(name: str, sizes: Sequence[int], out: Tensor | None, *, is_complex: bool) -> None:
    """Refuse sizes without points, and an `out` that cannot hold the result."""
    if out is not None and out.is_complex() != is_complex:
        kind = "complex" if is_complex else "floating point"
        raise RuntimeError(f"{name}: expects a {kind} output tensor, but got {out.dtype}")
    _check_points(name, sizes)


def fitted(input: Tensor, axes: list[int], sizes: list[int]) -> Tensor:
    """The input with these sizes: its first elements, or all and then zeros."""
    after = [0] * input.dim()
    for axis, size in zip(axes, sizes, strict=True):
        if size < input.shape[axis]:
            input = input.narrow(axis, 0, size)
        after[axis] = size - input.shape[axis]
    if any(after):
        input = _ops._constant_pad_nd(input, [0] * len(after), after[::-1], 0)
    return input


# ------------------------------------------------------------------------------------------------------ kinds of them
def to_complex(
    name: str, input: Tensor, s: Sizes, dim: Sizes, norm: str | None, forward: bool, out: Tensor | None
) -> Tensor:
    """Complex numbers, or real ones, to complex ones."""
    axes, sizes, mode = planned(name, input, s, dim, norm, forward)
    check(name, sizes, out, is_complex=True)
    x = fitted(input, axes, sizes)
    result: Tensor
    if x.is_complex():
        result = c2c(x, axes, mode, forward)
    else:
        result = r2c(x, axes, mode, False, sizes[-1])
        result = result if forward else result.conj()
    return filled(name, result, out)


def to_half(
    name: str, input: Tensor, s: Sizes, dim: Sizes, norm: str | None, forward: bool, out: Tensor | None
) -> Tensor:
    """Real numbers to one half of the complex ones, of which the other half is the conjugate."""
    axes, sizes, mode = planned(name, input, s, dim, norm, forward, some=True)
    check(name, sizes, out, is_complex=True)
    result: Tensor = r2c(fitted(input, axes, sizes), axes, mode, True, sizes[-1])
    result = result if forward else result.conj()
    return filled(name, result, out)


def to_real(
    name: str, input: Tensor, s: Sizes, dim: Sizes, norm: str | None, forward: bool, out: Tensor | None
) -> Tensor:
    """One half of complex numbers, of which the other half is the conjugate, to real ones."""
    axes, sizes, mode = planned(name, input, s, dim, norm, forward, some=True, of_half=True)
    check(name, sizes, out, is_complex=False)
    x = fitted(input, axes, [*sizes[:-1], sizes[-1] // 2 + 1])
    result: Tensor = c2r(x.conj() if forward else x, axes, mode, sizes[-1])
    return filled(name, result, out)
