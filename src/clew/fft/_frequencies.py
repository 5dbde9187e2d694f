"""The frequencies of the numbers of a transform, and their order."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from .._core import Tensor, dtype
from .._domains import domain
from ..ops._options import axis_of, check_options, made
from ..ops.ranges import arange

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


@domain("n=5; n=4, d=0.5")
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the numbers of an `fft`: `[0, 1, ..., (n-1)//2, -(n//2), ..., -1] / (n d)`.

    Args:
        n: the number of points.
        d: the time between two of them.
        out, dtype, layout, device, requires_grad: as of `arange`; the dtype is floating, by default the default one.

    Raises:
        RuntimeError: n is negative, or the dtype not floating.

    Example:
        >>> torch.fft.fftfreq(5)
        tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """

    def numbers(kind: Any) -> Tensor:
        step = _step("fftfreq", count, d, kind)
        whole = arange(count, dtype=kind)
        whole[(count + 1) // 2 :] -= count
        return whole * step

    check_options("fft.fftfreq", layout, device, None)
    count = _count("fftfreq", n)
    return made("fft.fftfreq", numbers, out, dtype, requires_grad, device=device)


@domain("n=5; n=4, d=0.5")
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the numbers of an `rfft`: `[0, 1, ..., n//2] / (n d)`. Arguments and errors as of `fftfreq`.

    Example:
        >>> torch.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000])
    """

    def numbers(kind: Any) -> Tensor:
        step = _step("rfftfreq", count, d, kind)
        return arange(count // 2 + 1, dtype=kind) * step

    check_options("fft.rfftfreq", layout, device, None)
    count = _count("rfftfreq", n)
    return made("fft.rfftfreq", numbers, out, dtype, requires_grad, device=device)


def _count(name: str, n: int) -> int:
    n = operator.index(n)
    if n < 0:
        raise RuntimeError(f"fft.{name}: expected a number of points of at least 0, got {n}")
    return n


def _step(name: str, n: int, d: float, kind: dtype) -> float:
    """1 / (n d)."""
    if not kind.is_floating_point:
        raise RuntimeError(f"fft.{name} requires a floating point dtype, got {kind}")
    return 1 / (n * d) if n * d else math.copysign(math.inf, d)


@domain("input=real(a, b); input=real(a, b, c), dim=(0, 2); input=real(a, b), dim=1")
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Turn the numbers of a transform so that those of the frequency 0 are in the middle.

    Args:
        input: as `fft` orders them: the negative frequencies last.
        dim: the axes to shift; all unless given.

    Raises:
        IndexError: there is no such axis.

    Example:
        >>> torch.fft.fftshift(torch.tensor([0, 1, 2, -2, -1]))
        tensor([-2, -1,  0,  1,  2])
    """
    return _shifted("fftshift", input, dim, 0)


@domain("input=real(a, b); input=real(a, b, c), dim=(0, 2); input=real(a, b), dim=1")
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`, which for an odd number of elements shifts by one more. Arguments and errors as there.

    Example:
        >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1, 2]))
        tensor([ 0,  1,  2, -2, -1])
    """
    return _shifted("ifftshift", input, dim, 1)


def _shifted(name: str, input: Tensor, dim: int | Sequence[int] | None, more: int) -> Tensor:
    chosen = range(input.dim()) if dim is None else dim if isinstance(dim, Sequence) else [dim]
    axes = [axis_of(f"fft.{name}", input, axis, of_number=False) for axis in chosen]
    return input.roll([(input.shape[axis] + more) // 2 for axis in axes], axes)
