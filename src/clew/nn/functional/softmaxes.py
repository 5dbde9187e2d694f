"""Softmax and its relatives, as functions."""

from __future__ import annotations

import warnings
from typing import Any

import clew
from clew import Tensor
from clew._domains import domain

__all__ = ["glu", "log_softmax", "softmax", "softmin"]


@domain("real, dim=1; real, dim=0")
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`exp(x)` divided by its sum along `dim`. Saves its result.

    Args:
        input: of any shape.
        dim: the axis that sums to 1. Without it one is guessed, with a warning, as PyTorch does.
        dtype: cast the input to it first, say to avoid overflow.

    Example:
        >>> torch.nn.functional.softmax(torch.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.0900, 0.2447, 0.6652])
    """
    return clew.softmax(input, _dim_or_guess(input, dim), dtype=dtype)


@domain("real, dim=1")
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax(-x)`: exp(-x) divided by its sum along `dim`. Arguments as for `softmax`.

    Example:
        >>> torch.nn.functional.softmin(torch.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([0.6652, 0.2447, 0.0900])
    """
    return clew.softmax(-input, _dim_or_guess(input, dim), dtype=dtype)


@domain("real, dim=1; real, dim=0")
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`log(softmax(x))` as `x - logsumexp(x)`, which neither overflows nor gives `log(0)`. Arguments as for `softmax`.

    Example:
        >>> torch.nn.functional.log_softmax(torch.tensor([0.0, 200.0]), dim=0)
        tensor([-200.,    0.])
    """
    return clew.log_softmax(input, _dim_or_guess(input, dim), dtype=dtype)


def _dim_or_guess(input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


@domain("input=real(b, c); input=real(c, b), dim=0")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Gated linear unit: `a * sigmoid(b)`, where a and b are the halves of the input along `dim`.

    Dauphin et al., https://arxiv.org/abs/1612.08083.

    Raises:
        RuntimeError: the size of the axis is odd.

    Example:
        >>> torch.nn.functional.glu(torch.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """
    return clew.glu(input, dim)
