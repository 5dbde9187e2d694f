"""Which code is the user's and which is ours."""

from __future__ import annotations

import os
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
