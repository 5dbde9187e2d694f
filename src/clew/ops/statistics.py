"""Covariance and correlation."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from .._samples import any_true

__all__ = ["corrcoef", "cov"]
METHODS = ["corrcoef", "cov"]

_ops: Any = _core.ops


@domain(
    "input=real(b, d); input=real(d); "
    "input=real(b, d), correction=0, fweights=index(4, d), aweights=constant(positive(d))"
)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables (rows) from observations (columns).

    Args:
        input: shape (variables, observations), or (observations) for one variable.
        correction: subtracted from the number of observations: 1 for the unbiased estimate.
        fweights: how often each observation was made, integers of shape (observations).
        aweights: a weight for each observation, floating.

    Returns:
        Shape (variables, variables), or () for one variable.

    Raises:
        RuntimeError: more than two dimensions, bools, or weights of other shapes, of other dtypes or negative.

    Example:
        >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov: expected input to have two or fewer dimensions but got an input with {input.dim()}")
    if input.dtype == _core.dtypes["bool"]:
        raise RuntimeError("cov: bool dtype is not supported for input; cast it first")
    x = input.view(1, -1) if input.dim() < 2 else input
    weights = _weights(x.shape[1], fweights, aweights)
    if weights is None:
        total: Any = x.shape[1]
        centred = x - (x.sum(1) / total).unsqueeze(1)
        product = centred.mm(centred.t().conj())
        norm: Any = total - correction
    else:
        total = weights.sum()
        centred = x - ((x * weights).sum(1) / total).unsqueeze(1)
        product = centred.mm((centred * weights).t().conj())
        norm = total - (correction if aweights is None else correction * (weights * aweights).sum() / total)
    if not x.is_meta and bool(norm <= 0):
        warnings.warn("cov: degrees of freedom is <= 0; take more observations", UserWarning, stacklevel=2)
        norm = 0 * norm
    covariances: Tensor = product / norm
    return covariances.squeeze()


def _weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    for name, given, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if given is None:
            continue
        if given.dim() > 1 or given.numel() != count:
            raise RuntimeError(f"cov: expected {name} to be a vector of {count} elements, got {list(given.shape)}")
        if whole and (given.dtype.is_floating_point or given.dtype == _core.dtypes["bool"]):
            raise RuntimeError(f"cov: expected {name} to have integral dtype but got {given.dtype}")
        if not whole and not given.dtype.is_floating_point:
            raise RuntimeError(f"cov: expected {name} to have floating point dtype but got {given.dtype}")
        if not given.is_meta and any_true(given < 0):
            raise RuntimeError(f"cov: {name} cannot be negative")
    if fweights is None or aweights is None:
        return fweights if aweights is None else aweights
    return fweights * aweights


@domain("input=real(b, d)")
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlation coefficients of variables (rows) from observations (columns): `cov` scaled to [-1, 1].

    Raises:
        RuntimeError: more than two dimensions.

    Example:
        >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"corrcoef: expected input to have two or fewer dimensions but got {input.dim()}")
    c = cov(input)
    if c.dim() == 0:
        return c / c
    size = c.diagonal().sqrt()
    return (c / size.view(-1, 1) / size.view(1, -1)).clamp(-1, 1)
