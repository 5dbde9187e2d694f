"""Distances between vectors."""

from __future__ import annotations

from clew import Tensor
from clew._domains import domain, with_numpys_names
from clew.ops.numeric import pdist

__all__ = [
    "pairwise_distance",
    "pdist",
]


@with_numpys_names
@domain("x1=real(a, b), x2=real(a, b); x1=real(a, c), x2=real(c), p=1.0, keepdim=True")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of `x1 - x2 + eps` along the last axis; the two are broadcast.

    Example:
        >>> torch.nn.functional.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2), eps=0.0)
        tensor([5.])
    """
    last = max(x1.dim(), x2.dim()) - 1
    return (x1 - x2 + eps).norm(p, last, keepdim)
