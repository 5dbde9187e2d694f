"""`torch.cuda.amp`: the older spelling, for a device that there is not. Both do nothing but say so."""

from __future__ import annotations

from typing import Any

from .._unsupported import missing_from
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd as _custom_bwd
from ..amp import custom_fwd as _custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):
    """`clew.amp.autocast("cuda")`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """`clew.amp.GradScaler("cuda")`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__path__: list[str] = []  # so that `torch.cuda.amp.common` is imported
__getattr__ = missing_from(__name__)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`clew.amp.custom_fwd(device_type="cuda")`."""
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`clew.amp.custom_bwd(device_type="cuda")`."""
    return _custom_bwd(bwd, device_type="cuda")
