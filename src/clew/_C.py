"""What libraries ask of `torch._C`: names for annotations, and whether a trace is being recorded, which is never so."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ._core import Tensor, dtype
from ._core import _disabled_torch_dispatch_impl as _disabled_torch_dispatch_impl
from ._core import _disabled_torch_function_impl as _disabled_torch_function_impl
from ._core import has_torch_function as _has_torch_function_variadic
from ._device import device
from ._unsupported import missing_from

__all__: list[str] = []

_has_torch_function_unary = _has_torch_function_variadic
_missing = missing_from(__name__)


def _get_tracing_state() -> None:
    """None: nothing is traced by `torch.jit`.

    Example:
        >>> torch._C._get_tracing_state() is None
        True
    """


def _log_api_usage_once(event: str) -> None:
    """Nothing: no use is counted."""


_TensorMeta = _ParameterMeta = type(Tensor)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """What the arguments of `Tensor.to` name: device, dtype, whether not to wait, and the memory format.

    Raises:
        TypeError: an argument that `to` does not take.

    Example:
        >>> torch._C._nn._parse_to("cpu", torch.float64)
        (device(type='cpu'), torch.float64, False, None)
    """
    flags = [arg for arg in args if isinstance(arg, bool)]
    found: dict[str, Any] = {"device": None, "dtype": None, "memory_format": None} | kwargs
    for arg in args:
        if isinstance(arg, Tensor):
            found["device"], found["dtype"] = arg.device, arg.dtype
        elif isinstance(arg, dtype):
            found["dtype"] = arg
        elif isinstance(arg, str | int | device) and not isinstance(arg, bool):
            found["device"] = arg
        elif arg is not None and not isinstance(arg, bool):
            raise TypeError(f"to: expected a device, a dtype or a tensor, got {type(arg).__name__}")
    where = None if found["device"] is None else device(found["device"])
    waits = bool(kwargs.get("non_blocking", flags[0] if flags else False))
    return where, found["dtype"], waits, found["memory_format"]


__path__: list[str] = []  # so that `torch._C._nn` is imported


def __getattr__(name: str) -> Any:
    if name in ("DisableTorchFunction", "DisableTorchFunctionSubclass"):
        return getattr(import_module("clew.overrides"), name)
    return _missing(name)
