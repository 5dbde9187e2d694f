"""PyTorch's module of this name: see `normal`."""

from .normal import Cauchy as Cauchy
from .normal import HalfCauchy as HalfCauchy
from .normal import HalfNormal as HalfNormal
