"""There are no CUDA devices; scripts that ask get the answer no."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .._unsupported import missing_from, told


def is_available() -> bool:
    """False: the CPU is the only device.

    Example:
        >>> clew.cuda.is_available()
        False
    """
    return False


def device_count() -> int:
    """0: the CPU is the only device.

    Example:
        >>> clew.cuda.device_count()
        0
    """
    return 0


def is_initialized() -> bool:
    """False: the CPU is the only device.

    Example:
        >>> clew.cuda.is_initialized()
        False
    """
    return False


def manual_seed_all(seed: int) -> None:
    """Accepted: there is no generator to seed.

    Example:
        >>> torch.cuda.manual_seed_all(0)
    """


manual_seed = manual_seed_all


@contextmanager
def stream(stream: Any) -> Iterator[None]:
    """A context for the work of a stream. There are no streams, so it takes None only, as PyTorch without CUDA does.

    Raises:
        NotImplementedError: `stream` is not None.
    """
    if stream is not None:
        raise NotImplementedError(told("cuda.stream"))
    yield


def _index(device: Any) -> int:
    """The index of a CUDA device; -1 for the CPU and for None."""
    if device is None or getattr(device, "type", device) == "cpu":
        return -1
    return device if isinstance(device, int) else 0


class device:
    """A context in which a CUDA device is the default. There is none: it takes None, -1 and the CPU, to no effect.

    Raises:
        NotImplementedError: another device.

    Example:
        >>> with torch.cuda.device(-1):
        ...     pass
    """

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise NotImplementedError(told("cuda.device"))

    def __exit__(self, *exc_info: object) -> None:
        """Nothing: there is no device to go back to."""


class device_of(device):
    """A context in which a tensor's device is the default: the CPU is it already."""

    def __init__(self, obj: Any) -> None:
        super().__init__(-1)


def set_rng_state_all(new_states: Any) -> None:
    """Set the state of each device's generator: there are none, so the list is empty.

    Raises:
        NotImplementedError: there are states in it.

    Example:
        >>> torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    """
    if len(list(new_states)):
        raise NotImplementedError(told("cuda.set_rng_state_all"))


_missing = missing_from(__name__)


def __getattr__(name: str) -> Any:
    if name in ("amp", "nvtx"):
        return import_module(f"clew.cuda.{name}")
    return _missing(name)
