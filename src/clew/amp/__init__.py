"""Mixed precision as scripts ask for it. float32 stays float32, as its products are the faster ones here.

`autocast` keeps track of what was asked and changes no dtype. `GradScaler` scales, looks for infinities and skips steps
as it would for half precision.
"""

from __future__ import annotations

from .._unsupported import missing_from
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

__getattr__ = missing_from(__name__)
