"""Mixed precision on the CPU.

`autocast` gives operations the dtypes that PyTorch gives them. Products of bfloat16 and float16 are computed in float32
and rounded, so they are slower than those of float32. `GradScaler` scales a loss, looks for infinities and skips steps.
"""

from __future__ import annotations

from .._unsupported import missing_from
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

__getattr__ = missing_from(__name__)
