"""PyTorch's module of this name: see `distribution`."""

from .distribution import ExponentialFamily as ExponentialFamily
