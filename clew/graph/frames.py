"""Which code is the user's and which is ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_ours(filename: str) -> bool:
    """Whether a frame of this file is inside clew, or in the import machinery under it."""
    return filename.startswith(_PACKAGE) or filename.startswith("<frozen ")


def user_frames(frame: FrameType | None) -> list[FrameType]:
    """``frame`` and its callers, innermost first, without those inside clew."""
    found = []
    while frame is not None:
        if not is_ours(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    return found


def forget_locals(frames: Iterable[FrameType]) -> None:
    """Empty the copies of local variables that Python keeps in a frame once somebody has asked for ``f_locals``.

    They would keep the tensors of this moment alive. From Python 3.13 on there is no copy. One that the program has
    asked for itself, with ``locals()``, is left alone.
    """
    if sys.version_info >= (3, 13):
        return
    for frame in frames:
        if frame.f_code.co_flags & _HAS_FAST_LOCALS:
            copy = frame.f_locals
            if sys.getrefcount(copy) <= _OWN_REFERENCES:
                copy.clear()


_HAS_FAST_LOCALS = 1  # inspect.CO_OPTIMIZED
_OWN_REFERENCES = 3  # the frame, the variable here, getrefcount's argument
