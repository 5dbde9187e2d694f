"""A C compiler for generated code where the system has none."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil

from .. import _core


@functools.cache
def spare_compiler() -> str | None:
    """The one in the Python package `ziglang`, if that is installed and there is no `cc`: `pip install clew[compile]`.

    Whoever lets code be made calls this first: the core does not know where packages are.
    """
    if shutil.which("cc") is not None or (found := importlib.util.find_spec("ziglang")) is None:
        return None
    path = os.path.join(os.path.dirname(found.origin or ""), "zig.exe" if os.name == "nt" else "zig")
    if not os.path.isfile(path):
        return None
    _core.set_spare_compiler(path)
    return path
