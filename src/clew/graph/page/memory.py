"""The section of a page that shows memory over time: its data as compressed columns, and its controls."""

from __future__ import annotations

import functools
import html
import string
from array import array
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from .charts import as_script
from .columns import packed


def memory_section(columns: Mapping[str, array[Any]], groups: Sequence[Mapping[str, str]], heading: str) -> str:
    """HTML.

    Args:
        columns: an element for each block of memory: ``size``, ``group``, ``taken_step``, ``given_step`` (-1: never),
            ``taken_ns`` and ``given_ns``.
        groups: ``category``, ``module``, ``line`` and ``source`` of those that ``group`` has the numbers of.
        heading: which time it is about.
    """
    data = as_script({**packed(list(columns.items())), "groups": list(groups)})
    return _asset().substitute(data=data, heading=html.escape(heading))


@functools.cache
def _asset() -> string.Template:
    return string.Template((files(__package__) / "memory.html").read_text(encoding="utf-8"))
