"""Collectives with derivatives."""

from . import functional
from .functional import *  # noqa: F403

__all__ = functional.__all__
