"""`torch.cuda.nvtx`: marks for a profiler of CUDA. Using one raises; decorating a function with one does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._unsupported import missing_from, told

__all__ = ["range"]


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context that raises NotImplementedError when it is entered."""
    raise NotImplementedError(told("cuda.nvtx.range"))
    yield


__getattr__ = missing_from(__name__)
