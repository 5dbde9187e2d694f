"""What programs give to a writer, as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy

from ..._core import Tensor

Array = Any  # of any dtype and shape


def as_array(x: Any) -> Array:
    """A tensor, array or number as an array; a number has the shape (1,).

    Raises:
        NotImplementedError: it is something else.
    """
    if isinstance(x, numpy.ndarray):
        return x
    if isinstance(x, Tensor):
        return x.detach().cpu().numpy()
    if numpy.isscalar(x):
        return numpy.array([x])
    raise NotImplementedError(
        f"SummaryWriter: expected a tensor, a NumPy array or a number, got {type(x).__name__}; convert it with tensor()"
    )
