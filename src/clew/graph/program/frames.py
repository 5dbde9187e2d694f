"""Which code is the user's and which is ours."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from collections.abc import Iterable
from types import FrameType

_INSTALLED = tuple(
    path + os.sep
    for name, path in sysconfig.get_paths().items()
    if name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_PACKAGE = os.path.abspath(os.path.join(__file__, *[os.pardir] * 3)) + os.sep


def is_ours(filename: str) -> bool:
    """Whether a frame of this file is inside clew, or in the import machinery under it."""
    return filename.startswith(_PACKAGE) or filename.startswith("<frozen ")


def is_installed(filename: str) -> bool:
    """Whether a file belongs to Python or to a package: a test runner's or a notebook's, not what the user works on."""
    return filename.startswith(_INSTALLED) or f"{os.sep}site-packages{os.sep}" in filename


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
    """The variables of the frames that are the user's own code, then their modules' globals, each module once."""
    frames = [frame for frame in frames if not is_installed(frame.f_code.co_filename)]
    modules = {id(frame.f_globals): frame.f_globals for frame in frames}
    functions = [variables(frame) for frame in frames if frame.f_code.co_name != "<module>"]
    return [*functions, *modules.values()]
