"""Neural networks: parameters, modules, losses."""

from . import functional, init, modules, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "utils", *modules.__all__]
