"""The environment in which tests start the ``clew`` command."""

from __future__ import annotations

import os
import sys


def environment(**more: str) -> dict[str, str]:
    """This process's, with the same clew."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)} | more
