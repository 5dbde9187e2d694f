"""Mixed precision: regions in which products are of bfloat16 or float16, and what is sensitive of float32."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .. import _core
from .._core import Tensor, dtype

_DEVICES = ("cpu", "cuda", "xpu", "mps", "hpu", "xla", "meta")
_ON, _FLOAT16, _UNCACHED = 1, 2, 4
_bfloat16, _float16 = _core.dtypes["bfloat16"], _core.dtypes["float16"]
_state = _core.autocast_state


class _Others(threading.local):
    """What was set for devices that there are not."""

    def __init__(self) -> None:
        self.dtypes: dict[str, Any] = {}


_others = _Others()


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
    return device_type == "cpu" and bool(_state(None) & _ON)


def is_autocast_cpu_enabled() -> bool:
    """Whether an `autocast("cpu")` surrounds the call."""
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype of operations of the lower precision list in a region of `autocast`.

    Example:
        >>> torch.get_autocast_dtype("cpu")
        torch.bfloat16
    """
    if device_type == "cpu":
        return _float16 if _state(None) & _FLOAT16 else _bfloat16
    found: dtype = _others.dtypes.get(device_type, _float16)
    return found


def get_autocast_cpu_dtype() -> dtype:
    """`get_autocast_dtype("cpu")`."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    """`get_autocast_dtype("cuda")`; there is no such device."""
    return get_autocast_dtype("cuda")


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch `autocast` of the CPU on or off for the rest of this thread; of other devices it is off.

    Example:
        >>> torch.set_autocast_enabled("cpu", False)
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not {_name(enabled)}")
    if device_type == "cpu":
        _state((_state(None) & ~_ON) | enabled)


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set what `get_autocast_dtype` returns.

    Raises:
        NotImplementedError: on the CPU, of a dtype other than bfloat16 and float16.

    Example:
        >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {_name(dtype)}")
    if device_type != "cpu":
        _others.dtypes[device_type] = dtype
    elif dtype in (_bfloat16, _float16):
        _state((_state(None) & ~_FLOAT16) | (_FLOAT16 if dtype == _float16 else 0))
    else:
        raise NotImplementedError(f"set_autocast_dtype: expected bfloat16 or float16 on the CPU, got {dtype}")


def _name(value: Any) -> str:
    return type(value).__name__


def is_autocast_cache_enabled() -> bool:
    """Whether a weight is cast once in a region, and not at each use.

    Example:
        >>> torch.is_autocast_cache_enabled()
        True
    """
    return not _state(None) & _UNCACHED


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Cast each weight once in a region, or at each use. A cast is never taken after a write to its weight."""
    _state((_state(None) & ~_UNCACHED) | (0 if enabled else _UNCACHED))


def clear_autocast_cache() -> None:
    """Forget the casts of weights. The end of the outermost region does so.

    Example:
        >>> torch.clear_autocast_cache()
    """
    _core.clear_autocast_casts()


def _leave(before: int) -> None:
    _state(before)
    if not before & _ON:
        _core.clear_autocast_casts()


@contextlib.contextmanager
def in_state(state: int) -> Iterator[None]:
    """The region that `_core.autocast_state(None)` was read in, entered again if it has been left."""
    if state == _state(None):
        yield
        return
    before = _state(state)
    try:
        yield
    finally:
        _leave(before)


class autocast:
    """A region in which operations have the dtypes that PyTorch gives them on the CPU; a context and a decorator.

    Products, convolutions, attention and layers of an LSTM cast float32 to `dtype`, accumulate in float32, and round
    their results. Losses, factorizations, Fourier transforms and some others cast to float32. `cat`, `stack` and
    `index_copy` take the widest dtype of their inputs. All other operations take their inputs as they are. float64 is
    never cast. Gradients of float32 tensors are float32. Run backward outside of the region.

    No kernel uses instructions for bfloat16 or float16, so a region is slower than float32. The first one warns.

    Args:
        device_type: "cpu"; others switch it off with a warning.
        dtype: bfloat16 (the default on the CPU) or float16; others switch it off with a warning.
        enabled: False switches it off inside an outer one.
        cache_enabled: cast a leaf that requires a gradient once in the region, not at each use.

    Example:
        >>> with clew.autocast("cpu"):
        ...     (clew.ones(1, 1) @ clew.ones(1, 1)).dtype, clew.ones(1).exp().dtype
        (torch.bfloat16, torch.float32)
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
        if device_type == "cpu" and enabled and self.fast_dtype not in (_bfloat16, _float16):
            warnings.warn(
                f"autocast: expected dtype=bfloat16 or float16 on the CPU, got {self.fast_dtype}. Disabling autocast",
                stacklevel=2,
            )
            self._enabled = False
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        if self.device == "cpu":
            half, uncached = self.fast_dtype is _float16, not self._cache_enabled
            self._before.append(_state(_ON * self._enabled | _FLOAT16 * half | _UNCACHED * uncached))
        else:
            self._before.append(get_autocast_dtype(self.device))
            set_autocast_dtype(self.device, self.fast_dtype)
        return self

    def __exit__(self, *exception: Any) -> None:
        before = self._before.pop()
        if self.device != "cpu":
            return set_autocast_dtype(self.device, before)
        _leave(before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """The value with floating tensors in it, except of float64, in this dtype."""
    if isinstance(value, Tensor):
        casts = value.is_floating_point() and value.dtype is not _core.dtypes["float64"]
        return value.to(dtype) if casts and value.device.type == device_type else value
    if isinstance(value, Mapping):
        return {_cast(key, device_type, dtype): _cast(one, device_type, dtype) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_cast(one, device_type, dtype) for one in value)
    return value


def custom_fwd(fwd: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """Decorates the `forward` of a `Function`, so that `custom_bwd` can run its `backward` as `forward` was run.

    Args:
        fwd: the forward, whose first argument is the context.
        device_type: whose `autocast` it is about.
        cast_inputs: in a region, cast floating tensors to this dtype, and run `forward` with `autocast` off.

    Example:
        >>> class Scale(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        ...     def forward(ctx, x):
        ...         return x @ x
        >>> with torch.autocast("cpu"):
        ...     Scale.apply(torch.ones(1, 1)).dtype
        torch.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx, inside = args[0], is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if not inside or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str = "cpu") -> Any:
    """Decorates the `backward` of a `Function` whose `forward` has `custom_fwd`: it runs with the same `autocast`."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return backward
