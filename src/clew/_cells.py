"""Lines of code as users know them: of a file by its name, of a notebook's cell by its number.

A cell is compiled under a name such as ``/tmp/ipykernel_31/2045.py``, which no one has seen. IPython's own tracebacks
call it ``Cell In[4]``.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def file_text(file: str) -> str:
    """``train.py``, or ``Cell In[4]``.

    Example:
        >>> file_text("/home/me/train.py")
        'train.py'
    """
    return _cell(file) or os.path.basename(file)


def place_text(file: str, line: int) -> str:
    """``train.py:5``, or ``Cell In[4], line 5``.

    Example:
        >>> place_text("/home/me/train.py", 5)
        'train.py:5'
    """
    cell = _cell(file)
    return f"{cell}, line {line}" if cell else f"{os.path.basename(file)}:{line}"


def site_text(file: str, line: int, function: str) -> str:
    """The same with its function: ``train.py:5 in main``. What stands in a cell itself is in no function.

    Example:
        >>> site_text("/home/me/train.py", 5, "main")
        'train.py:5 in main'
    """
    is_top = function == "<module>" and _cell(file) is not None
    return place_text(file, line) if is_top else f"{place_text(file, line)} in {function}"


def _cell(file: str) -> str | None:
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = name(file) if name is not None else None
    return " ".join(found) if found else None
