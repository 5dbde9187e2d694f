"""Tensors below the batches of vmap: what autograd records.

Note [Derivatives under vmap]
The graph knows nothing of batches: it records operations on all samples at once. So a derivative inside of vmap is
taken there. Its inputs are expanded to all samples first, since what the samples share would get the sum of their
gradients; and as no sample's output depends on another's input, the gradient of the outputs' sum is each sample's own.
"""

from __future__ import annotations

from .. import _core
from .._core import Tensor


def values_in(tensor: Tensor, batch: int, size: int) -> Tensor:
    """All samples of a batch along axis 0. Batches that began later stay as they are."""
    own = _core.batch_of(tensor)
    if own == batch:
        return _core.batch_value(tensor)
    if own > batch:
        return _core.make_batched(values_in(_core.batch_value(tensor), batch, size).transpose(0, 1), own)
    return tensor.expand(size, *tensor.shape)


def sample_of(values: Tensor, batch: int) -> Tensor:
    """The inverse."""
    own = _core.batch_of(values)
    if own > batch:
        return _core.make_batched(sample_of(_core.batch_value(values).transpose(0, 1), batch), own)
    return _core.make_batched(values, batch)


class Batches:
    """Those that are active when it is made."""

    def __init__(self) -> None:
        self._active = _core.active_batches()

    def below(self, tensor: Tensor) -> Tensor:
        """What a tensor is for the graph: an axis for each batch, from the outermost, and then its own."""
        for batch, size in reversed(self._active):
            tensor = values_in(tensor, batch, size)
        return tensor

    def above(self, values: Tensor) -> Tensor:
        """The inverse."""
        for batch, _ in self._active:
            values = sample_of(values, batch)
        return values
