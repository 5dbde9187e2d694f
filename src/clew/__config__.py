"""`torch.__config__`: how this was built."""

from __future__ import annotations

from ._core import get_num_threads
from .version import __version__


def show() -> str:
    """A text about the build.

    Example:
        >>> clew.__config__.show().splitlines()[0].startswith("clew")
        True
    """
    return (
        f"clew {__version__}\n  - the CPU is the only device; `clew doctor` shows what it is and what is used of it\n"
    )


def parallel_info() -> str:
    """A text about threads."""
    return f"clew computes in {get_num_threads()} threads; `clew doctor` tells more\n"
