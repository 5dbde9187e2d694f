"""PyTorch's module of this name: see `normal`."""

from .normal import LogisticNormal as LogisticNormal
from .normal import LogNormal as LogNormal
