"""Schedules of the learning rate: after each epoch (or step), call the scheduler's `step`."""

from ..._unsupported import missing_from as _missing_from
from .base import LRScheduler
from .by_epoch import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .combined import ChainedScheduler, SequentialLR
from .cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR
from .one_cycle import OneCycleLR
from .plateau import ReduceLROnPlateau

_LRScheduler = LRScheduler  # the name of old

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

__getattr__ = _missing_from(__name__)
