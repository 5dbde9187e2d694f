"""Optimizers whose work several processes share."""

from __future__ import annotations

from ..._unsupported import missing_from
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]

__getattr__ = missing_from(__name__)
