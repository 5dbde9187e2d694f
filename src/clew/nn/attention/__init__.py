"""`torch.nn.attention`: which kernel attention uses. There is one, so a choice that contains it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from importlib import import_module
from typing import Any

from ..._unsupported import missing_from

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The kernels of `scaled_dot_product_attention` that PyTorch has, with its numbers."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """A context in which attention may use these kernels. All compute the same, so clew uses its own for any of them.

    Raises:
        AssertionError: `backends` is neither a kernel nor a list of kernels.

    Example:
        >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        ...     torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 2, 2)] * 3).sum()
        tensor(4.)
    """
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, list | tuple) or not all(isinstance(one, SDPBackend) for one in given):
        raise AssertionError(f"sdpa_kernel: expected an SDPBackend or a list of them, got {backends!r}")
    yield


_missing = missing_from(__name__)


def __getattr__(name: str) -> Any:
    if name == "flex_attention":
        return import_module(f"{__name__}.flex_attention")
    return _missing(name)
