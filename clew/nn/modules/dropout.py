"""Dropout."""

from __future__ import annotations

from clew import Tensor

from .. import functional as F
from ..functional.layer import check_probability
from .module import Module


class Dropout(Module):
    """In training mode, sets each element to zero with probability `p` and scales the others by `1 / (1 - p)`.

    In evaluation mode it gives its input back.

    >>> import clew
    >>> clew.nn.Dropout(0.5).eval()(clew.ones(3))
    tensor([1., 1., 1.])
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
