"""Windows for spectra."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .creation_like import ones_like
from .ranges import arange

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _window(
    name: str, length: int, periodic: bool, options: dict[str, Any], values: Callable[[Tensor], Tensor]
) -> Tensor:
    """`values` of the places from 0 to 1."""
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    kind = options.pop("dtype", None) or _core.get_default_dtype()
    requires_grad = options.pop("requires_grad", False)
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    unknown = options.keys() - {"layout", "device", "pin_memory"}
    if unknown:
        raise TypeError(f"{name}: got unexpected keyword argument(s) {', '.join(sorted(unknown))}")
    places = arange(length, dtype=_core.dtypes["float64"], device=options.get("device"))
    whole = values(places / (length if periodic else length - 1)) if length > 1 else ones_like(places)
    return whole.to(kind).requires_grad_(requires_grad)


@domain("window_length=5; window_length=4, periodic=False")
def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Hann window `0.5 - 0.5 cos(2 pi n / N)`, for spectra.

    Args:
        window_length: how many values.
        periodic: N is `window_length`, as Fourier transforms need it; False: N is one less, so that the window is
            symmetric.
        options: `dtype`, `requires_grad` and so on, as of `zeros`.

    Raises:
        RuntimeError: a negative length, or a dtype that is not floating.
        TypeError: another option.

    Example:
        >>> torch.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, options, lambda t: 0.5 - 0.5 * (2 * math.pi * t).cos())


@domain("window_length=5; window_length=4, periodic=False")
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Tensor:
    """`alpha - beta cos(2 pi n / N)`. Arguments as for `hann_window`.

    Example:
        >>> torch.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window("hamming_window", window_length, periodic, options, lambda t: alpha - beta * (2 * math.pi * t).cos())


@domain("window_length=5; window_length=4, periodic=False")
def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """`0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)`. Arguments as for `hann_window`.

    Example:
        >>> torch.blackman_window(4)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """

    def values(t: Tensor) -> Tensor:
        return 0.42 - 0.5 * (2 * math.pi * t).cos() + 0.08 * (4 * math.pi * t).cos()

    return _window("blackman_window", window_length, periodic, options, values)


@domain("window_length=5; window_length=4, periodic=False")
def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The triangular window `1 - |2 n / N - 1|`. Arguments as for `hann_window`.

    Example:
        >>> torch.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("bartlett_window", window_length, periodic, options, lambda t: 1 - abs(2 * t - 1))


@domain("window_length=5; window_length=4, periodic=False, beta=3.0")
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """`i0(beta sqrt(1 - (2 n / N - 1)²)) / i0(beta)`, with the modified Bessel function i0.

    Arguments as for `hann_window`, and:

    Args:
        beta: the shape: 0 is a rectangle, larger values have smaller side lobes.

    Example:
        >>> torch.kaiser_window(4)
        tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01])
    """

    def values(t: Tensor) -> Tensor:
        arc = (1 - (2 * t - 1) ** 2).clamp(min=0).sqrt()
        i0 = import_module("clew.special").i0
        height: Tensor = i0(beta * arc) / i0(t.new_tensor(beta))
        return height

    return _window("kaiser_window", window_length, periodic, options, values)
