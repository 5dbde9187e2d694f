"""Special functions that others are sums of."""

from __future__ import annotations

import math

from .. import _core
from .._core import Tensor
from .._domains import domain

__all__ = METHODS = ["mvlgamma"]


@domain("input=positive(a, b), p=1")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function: p (p - 1) / 4 log pi + sum over i < p of lgamma(input - i / 2).

    https://en.wikipedia.org/wiki/Multivariate_gamma_function

    Args:
        input: floating, above (p - 1) / 2.
        p: the dimension, at least 1.

    Raises:
        RuntimeError: `p` is below 1.

    Example:
        >>> torch.mvlgamma(torch.tensor(2.0), 1)
        tensor(0.)
    """
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    kind = input.dtype if input.dtype.is_floating_point else _core.get_default_dtype()
    arguments = input.unsqueeze(-1) - _core.tensor([i / 2 for i in range(p)], dtype=kind).to(input.device)
    return arguments.lgamma().sum(-1) + p * (p - 1) / 4 * math.log(math.pi)
