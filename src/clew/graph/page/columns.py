"""Columns of numbers in a page: one compressed block, and where in it each column is."""

from __future__ import annotations

import base64
import sys
import zlib
from array import array
from collections.abc import Sequence
from typing import Any


def packed(parts: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """``columns``, the block, and ``layout``: name, type, offset and length of each array in it."""
    layout, block = [], bytearray()
    for name, column in parts:
        block += bytes(-len(block) % 8)  # as a page's typed arrays want it
        layout.append((name, column.typecode, len(block), len(column)))
        if sys.byteorder == "big":
            column = array(column.typecode, column)
            column.byteswap()
        block += column.tobytes()
    return {"layout": layout, "columns": base64.b64encode(zlib.compress(bytes(block), 6)).decode("ascii")}
