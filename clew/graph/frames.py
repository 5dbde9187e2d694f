"""Which code is the user's and which is ours."""

from __future__ import annotations

import inspect
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


def variables(frame: FrameType) -> dict[str, object]:
    """The variables of a frame, in a dictionary that the frame does not keep.

    Until Python 3.12 reading ``f_locals`` of a function leaves a copy of its variables in the frame, which would keep
    alive what the function deletes later. The copy is emptied again, unless someone else has it: the function itself by
    ``locals()``, or a debugger.
    """
    found = frame.f_locals
    copy = dict(found)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        is_ours_alone = sys.getrefcount(found) <= 3  # the frame's, `found`, and the argument
        if is_ours_alone and sys.gettrace() is None:
            found.clear()
    return copy


def scopes_of(frames: Iterable[FrameType]) -> list[dict[str, object]]:
    """The variables of all frames, then the globals of their modules, each module once."""
    frames = list(frames)
    modules = {id(frame.f_globals): frame.f_globals for frame in frames}
    functions = [variables(frame) for frame in frames if frame.f_code.co_name != "<module>"]
    return [*functions, *modules.values()]
