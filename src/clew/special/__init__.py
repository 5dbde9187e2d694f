"""Special functions: the error functions, gamma functions, Bessel functions, and functions of probabilities."""

from __future__ import annotations

from .._methods import publish
from .._unsupported import missing_from
from . import _functions
from ._functions import *  # noqa: F403

__all__ = list(_functions.__all__)

publish(__all__, globals(), __name__)
__getattr__ = missing_from(__name__)
