"""Distances between vectors."""

from __future__ import annotations

from clew import Tensor
from clew._domains import domain

__all__ = [
    "pairwise_distance",
    "pdist",
]


@domain("x1=real(a, b), x2=real(a, b); x1=real(a, c), x2=real(c), p=1.0, keepdim=True")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of `x1 - x2 + eps` along the last axis; the two are broadcast.

    >>> import clew
    >>> clew.nn.functional.pairwise_distance(clew.tensor([[3.0, 4.0]]), clew.zeros(1, 2), eps=0.0)
    tensor([5.])
    """
    last = max(x1.dim(), x2.dim()) - 1
    return (x1 - x2 + eps).norm(p, last, keepdim)


@domain("input=distinct(c, b); input=distinct(c, b), p=1.0")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between all pairs of rows of (N, D): a vector, ordered as (0, 1), (0, 2), ..., (1, 2), ...

    Raises:
        RuntimeError: the input is no matrix, or `p` is negative.
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    import numpy

    import clew

    first, second = (clew.from_numpy(places) for places in numpy.triu_indices(input.shape[0], 1))
    return (input[first] - input[second]).norm(p, 1)
