"""Checks of values, which under `vmap` are those of all samples: what is wrong with one of them is wrong."""

from __future__ import annotations

from . import _core
from ._core import Tensor


def any_true(condition: Tensor) -> bool:
    """Whether an element is true, in any sample."""
    return bool(_of_all_samples(condition).any())


def all_true(condition: Tensor) -> bool:
    """Whether each element is true, in each sample."""
    return bool(_of_all_samples(condition).all())


def _of_all_samples(tensor: Tensor) -> Tensor:
    while _core.batch_of(tensor):
        tensor = _core.batch_value(tensor)
    return tensor
