"""The core's thread-local memory is small: what libraries that are loaded late share is some 1,600 bytes in glibc.

Whoever comes when it is used up can't be loaded: "cannot allocate memory in static TLS block".
"""

import struct
import sys
from pathlib import Path

import pytest

from clew import _core

MOST = 512  # bytes
THREAD_LOCAL = 7  # a segment's type, in an ELF file of 64 bits


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads an ELF file")
def test_the_core_takes_little_of_what_all_libraries_share():
    data = Path(_core.__file__).read_bytes()
    start, size, count = (*struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54))
    segments = [struct.unpack_from("<IIQQQQQQ", data, start + i * size) for i in range(count)]
    taken = [segment[6] for segment in segments if segment[0] == THREAD_LOCAL]
    assert len(taken) == 1
    assert taken[0] <= MOST
