"""Files as PyTorch wrote them before 1.6, and writes with `_use_new_zipfile_serialization=False`.

They are a row of pickles: a number, a version, sizes of types, the object, the keys of its storages. Then come the
storages, each as the number of its elements and their bytes. So a storage is known to the object before it is read.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from typing import IO, Any

import numpy

import clew
from clew import Tensor

from ._archive import LoadError, as_elements, named_storage, stored_type

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def system() -> dict[str, Any]:
    """The third pickle."""
    sizes = {"short": 2, "int": 4, "long": 4}
    return {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}


class LegacyFile:
    """What follows in the stream; no more memory is taken than it has bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        here = stream.tell()
        self.room = stream.seek(0, os.SEEK_END) - here
        stream.seek(here)

    def read_head(self, read: Callable[[], Any]) -> None:
        """The pickles before the object; `read` gives the next one."""
        head = [read() for _ in range(3)]
        if head[:2] != [MAGIC_NUMBER, PROTOCOL_VERSION] or type(head[2]) is not dict:
            raise LoadError("load: expected the number and the version with which files of PyTorch before 1.6 begin")
        self.order = "little" if head[2].get("little_endian", True) else "big"

    def storage(self, pid: Any, storages: dict[Any, tuple[Tensor, str]]) -> Tensor:
        """The storage that a pickle refers to, or the part of it that a view of that time looked at."""
        if type(pid) is not tuple or len(pid) != 6:
            raise LoadError("load: expected a storage where the pickle refers to one")
        key, size, dtype = named_storage(pid, 6)
        if key not in storages:
            self.room -= size * stored_type(dtype, self.order).itemsize
            if self.room < 0:
                raise LoadError(f"load: expected a storage of {size} elements in the rest of the file")
            storages[key] = clew.empty(size, dtype=getattr(clew, dtype)), dtype
        flat, known = storages[key]
        if known != dtype or flat.numel() != size:
            raise LoadError(f"load: expected the storage {key!r} to be the same each time, got two kinds of it")
        if pid[5] is None:
            return flat
        _, start, count = pid[5]
        if not (type(start) is int and type(count) is int and 0 <= start <= start + count <= size):
            raise LoadError(f"load: expected a part of the storage {key!r}, got {pid[5]!r}")
        return flat[start : start + count]

    def read_storages(self, keys: Any, storages: dict[Any, tuple[Tensor, str]]) -> None:
        """Read what the tensors that were made look at."""
        if type(keys) is not list or set(keys) != storages.keys() or len(keys) != len(storages):
            raise LoadError("load: expected the keys of the storages that the object refers to")
        for key in keys:
            flat, dtype = storages[key]
            stored = stored_type(dtype, self.order)
            (count,) = struct.unpack("<q" if self.order == "little" else ">q", self.stream.read(8))
            data = self.stream.read(flat.numel() * stored.itemsize)
            if count != flat.numel() or len(data) != flat.numel() * stored.itemsize:
                raise LoadError(f"load: expected {flat.numel()} elements of the storage {key!r}, got {count} or fewer")
            if count:
                flat.view(clew.uint8).numpy()[:] = as_elements(data, dtype, stored).view(clew.uint8).numpy()


def write_storages(
    stream: IO[bytes], flat: dict[str, Callable[[], numpy.ndarray[Any, Any]]], items: dict[str, int]
) -> None:
    """What follows the pickles: `items` has the bytes of an element of each storage."""
    for key in sorted(flat):
        data = flat[key]()
        stream.write(struct.pack("=q", data.nbytes // items[key]))
        stream.write(data.tobytes())
