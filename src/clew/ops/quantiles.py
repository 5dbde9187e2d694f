"""Values below which a share of the elements lies."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._samples import all_true
from ._options import axis_of

__all__ = METHODS = ["nanquantile", "quantile"]

_ops: Any = _core.ops
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@domain("input=distinct(d), q=0.3; input=distinct(a, d), q=constant(fraction(b)), dim=1, keepdim=True")
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The value below which a fraction `q` of the elements lies; NaN where one of them is NaN.

    Args:
        input: floating.
        q: from 0 to 1; a vector of several, of the same dtype, gives a leading axis for them.
        dim: the axis; all elements without it.
        interpolation: between two neighbours: "linear", "lower", "higher", "midpoint" or "nearest".

    Raises:
        RuntimeError: no elements, a fraction beyond 0 and 1, or dtypes that do not fit.

    Example:
        >>> torch.quantile(torch.tensor([1.0, 2.0, 4.0]), 0.75)
        tensor(3.)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, skips=False)


@domain("input=distinct(d), q=0.3; input=distinct(a, d), q=constant(fraction(b)), dim=1, keepdim=True")
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """`quantile` of the elements that are not NaN; NaN where there are none.

    Example:
        >>> torch.nanquantile(torch.tensor([1.0, torch.nan, 4.0]), 0.5)
        tensor(2.5000)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, skips=True)


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, *, skips: bool
) -> Tensor:
    shares = _shares(name, input, q, interpolation)
    axis = 0 if dim is None else axis_of(name, input, dim)
    x = input.reshape(-1) if dim is None or input.dim() == 0 else input
    ordered = _ops.sort(x, axis)[0].movedim(axis, -1)  # NaNs come last
    missing = _ops.isnan(ordered)
    last = (~missing).sum(-1, keepdim=True) - 1 if skips else _core.tensor(ordered.shape[-1] - 1)
    rank = shares.reshape(-1) * last
    below, above = rank.floor(), rank.ceil()
    if interpolation in ("lower", "higher", "nearest"):
        chosen = {"lower": below, "higher": above, "nearest": rank.round()}[interpolation]
        result = _at(ordered, chosen)
    else:
        weight = _core.tensor(0.5, dtype=input.dtype) if interpolation == "midpoint" else rank - below
        result = _ops.lerp(_at(ordered, below), _at(ordered, above), weight)
    if not skips:
        result = result.masked_fill(missing.any(-1, keepdim=True), math.nan)
    result = result.movedim(-1, 0)  # the shares first
    if keepdim:
        result = result.unsqueeze(axis + 1) if dim is not None else result.reshape(-1, *[1] * input.dim())
    return result if shares.dim() else result.squeeze(0)


def _shares(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    """The shares as a tensor of the input's dtype, checked."""
    if not isinstance(q, Tensor | float | int):
        raise TypeError(f"{name}: expected q to be a number or a tensor, got {type(q).__name__}; make a tensor of it")
    if input.numel() == 0:
        raise RuntimeError(f"{name}: input tensor must be non-empty")
    if input.dtype not in (_core.dtypes["float32"], _core.dtypes["float64"]):
        raise RuntimeError(f"{name}: input tensor must be either float or double dtype, got {input.dtype}")
    shares: Tensor = q if isinstance(q, Tensor) else _core.tensor(float(q), dtype=input.dtype).to(input.device)
    if shares.dim() > 1:
        raise RuntimeError(f"{name}: q must be a scalar or 1D tensor, got shape {list(shares.shape)}")
    if shares.dtype != input.dtype:
        raise RuntimeError(f"{name}: q tensor must be same dtype as the input tensor, got {shares.dtype}")
    if not shares.is_meta and not all_true((shares >= 0) & (shares <= 1)):
        raise RuntimeError(f"{name}: q must be in the range [0, 1] but got {q}")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}: interpolation must be one of {', '.join(_INTERPOLATIONS)}, but got {interpolation}"
        )
    return shares


def _at(ordered: Tensor, rank: Tensor) -> Tensor:
    """The elements of these ranks along the last axis."""
    index = rank.detach().clamp(min=0).long()
    result: Tensor = _ops.gather(ordered, -1, index.expand(*ordered.shape[:-1], index.shape[-1]))
    return result
