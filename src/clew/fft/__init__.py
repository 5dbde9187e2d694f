"""Fourier transforms, with derivatives of any order. Values come from SciPy, which has to be installed."""

from __future__ import annotations

from .._methods import publish
from .._unsupported import missing_from
from . import _frequencies, _one_axis, _several_axes
from ._frequencies import *  # noqa: F403
from ._one_axis import *  # noqa: F403
from ._several_axes import *  # noqa: F403

__all__ = [*_frequencies.__all__, *_one_axis.__all__, *_several_axes.__all__]

publish(__all__, globals(), __name__)
__getattr__ = missing_from(__name__)
