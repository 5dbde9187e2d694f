"""The switch of mixed precision, which has no effect on values yet."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import dtype

_DEVICES = ("cpu", "cuda", "xpu", "mps", "hpu", "xla", "meta")


class _State(threading.local):
    def __init__(self) -> None:
        self.enabled = dict.fromkeys(_DEVICES, False)
        self.dtypes: dict[str, Any] = {"cpu": _core.dtypes["bfloat16"]}
        self.cache = True


_state = _State()
_default = _core.dtypes["float16"]


def is_autocast_available(device_type: str) -> bool:
    """Whether the device can be named to `autocast`: the CPU can.

    Example:
        >>> torch.amp.is_autocast_available("cpu")
        True
    """
    return device_type == "cpu"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether an `autocast` of this device surrounds the call.

    Example:
        >>> with torch.autocast("cpu"):
        ...     torch.is_autocast_enabled("cpu")
        True
    """
    return _state.enabled.get(device_type, False)


def is_autocast_cpu_enabled() -> bool:
    """Whether an `autocast("cpu")` surrounds the call."""
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype that was asked for; operations keep theirs.

    Example:
        >>> torch.get_autocast_dtype("cpu")
        torch.bfloat16
    """
    found: dtype = _state.dtypes.get(device_type, _default)
    return found


def get_autocast_cpu_dtype() -> dtype:
    """The dtype that was asked for on the CPU; operations keep theirs."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    """The dtype that was asked for on CUDA; there is no such device."""
    return get_autocast_dtype("cuda")


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch `autocast` of a device on or off for the rest of the program; no value changes.

    Example:
        >>> torch.set_autocast_enabled("cpu", False)
    """
    _state.enabled[device_type] = enabled


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the dtype that `get_autocast_dtype` returns; operations keep theirs.

    Example:
        >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    _state.dtypes[device_type] = dtype


def is_autocast_cache_enabled() -> bool:
    """The setting of `set_autocast_cache_enabled`; there is nothing to cache.

    Example:
        >>> torch.is_autocast_cache_enabled()
        True
    """
    return _state.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Accepted; there is nothing to cache."""
    _state.cache = enabled


def clear_autocast_cache() -> None:
    """Accepted: there is no cache.

    Example:
        >>> torch.clear_autocast_cache()
    """


class autocast:
    """Accepted as a context manager and as a decorator; operations keep their dtypes: products of halves are no faster.

    Args:
        device_type: "cpu"; others switch it off with a warning.
        dtype: what `get_autocast_dtype` tells.
        enabled: False switches it off inside an outer one.
        cache_enabled: accepted.

    Example:
        >>> with clew.autocast("cpu"):
        ...     (clew.ones(1, 1) @ clew.ones(1, 1)).dtype, clew.is_autocast_enabled("cpu")
        (torch.float32, True)
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"autocast: Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in _DEVICES:
            raise RuntimeError(f"autocast: unsupported autocast device_type '{device_type}'; use 'cpu'")
        if enabled and not is_autocast_available(device_type):
            warnings.warn(
                f"User provided device_type of '{device_type}', but {device_type} is not available. Disabling",
                stacklevel=2,
            )
            enabled = False
        self.device, self._enabled = device_type, enabled
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._before: list[tuple[bool, Any]] = []

    def __enter__(self) -> autocast:
        self._before.append((is_autocast_enabled(self.device), get_autocast_dtype(self.device)))
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        return self

    def __exit__(self, *exception: Any) -> None:
        enabled, kind = self._before.pop()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, kind)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


def custom_fwd(fwd: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """The `forward` of a `Function` as it is: there is no dtype to cast to."""
    return fwd if fwd is not None else functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None, *, device_type: str = "cpu") -> Any:
    """The `backward` of a `Function` as it is: there is no dtype to cast to."""
    return bwd if bwd is not None else functools.partial(custom_bwd, device_type=device_type)
