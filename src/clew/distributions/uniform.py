"""PyTorch's module of this name: see `normal`."""

from .normal import Gumbel as Gumbel
from .normal import Uniform as Uniform
