"""A file that was saved, record by record, and what is wrong with it."""

from __future__ import annotations

import os
import pickle
import struct
from typing import IO, TYPE_CHECKING, Any

import numpy

import clew
from clew import Tensor

from .._storage import STORAGE_NAMES

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

File = str | os.PathLike[str] | IO[bytes]

DTYPES_BY_STORAGE = {storage: name for name, storage in STORAGE_NAMES.items()}


class LoadError(pickle.UnpicklingError, RuntimeError):
    """A file that `load` does not read: it is damaged, was not written by `save`, or holds what is refused.

    Example:
        >>> import io
        >>> try:
        ...     clew.load(io.BytesIO(b"no such file"))
        ... except clew.serialization.LoadError:
        ...     print("refused")
        refused
    """

    __module__ = "clew.serialization"


class UnsupportedStorage(NotImplementedError):
    """The file is in order, but has tensors of a type that is not supported."""


class Archive:
    """The records of a file; none is read that is larger than it should be."""

    # How much larger than its compressed form a record may be: save does not compress, but others may.
    PICKLES_GAIN, LARGEST_GAIN = 64, 1040

    def __init__(self, zipped: ZipFile, mapped: Any = None) -> None:
        self.zipped = zipped
        self.mapped = mapped  # the path of a file whose storages are mapped into memory
        self.records = {info.filename.partition("/")[2]: info for info in zipped.infolist()}
        if "data.pkl" not in self.records:
            raise LoadError("load: expected a file that save wrote (with a data.pkl in it)")
        stream: Any = zipped.fp
        length = stream.seek(0, os.SEEK_END)
        if sum(info.compress_size for info in zipped.infolist()) > length:
            raise LoadError("load: expected records that lie beside each other, got some that overlap or are cut off")
        self.order = "little"
        if "byteorder" in self.records:
            self.order = self._read(self.records["byteorder"], len("little")).decode()
            if self.order not in ("little", "big"):
                raise LoadError(f"load: expected bytes in little or big order, got {self.order!r}")

    def _read(self, info: ZipInfo, most: int) -> bytes:
        if info.compress_type not in (0, 8):  # stored, deflated
            raise LoadError(f"load: expected a record that is stored or deflated, got another in {info.filename!r}")
        gain = 1 if info.compress_type == 0 else self.LARGEST_GAIN
        if info.file_size > min(most, gain * info.compress_size + 64 * (gain > 1)):
            raise LoadError(f"load: expected at most {most} bytes in {info.filename!r}, got {info.file_size}")
        return self.zipped.read(info)

    def read_pickle(self) -> bytes:
        """The pickle of the object."""
        info = self.records["data.pkl"]
        return self._read(info, max(info.compress_size * self.PICKLES_GAIN, 1 << 20))

    def read_storage(self, key: Any, count: int, dtype: str) -> Tensor:
        """The elements of a storage, as a 1-D tensor."""
        stored = stored_type(dtype, self.order)
        size = count * stored.itemsize
        info = self.records.get(f"data/{key}")
        if info is None or info.file_size != size:
            found = "none" if info is None else f"{info.file_size}"
            raise LoadError(f"load: expected {size} bytes of the storage {key!r}, got {found}")
        if self.mapped is not None and count and info.compress_type == 0 and stored.isnative and dtype != "bool":
            start = self._start_of(info, size)
            if start % stored.itemsize == 0:
                return as_elements(numpy.memmap(self.mapped, stored, "c", start, (count,)), dtype)
        return as_elements(self._read(info, size), dtype, stored)

    def _start_of(self, info: ZipInfo, size: int) -> int:
        """Where in the file the bytes of a record begin."""
        stream: Any = self.zipped.fp
        stream.seek(info.header_offset)
        signature, name, extra = struct.unpack("<4s22xHH", stream.read(30))
        start: int = info.header_offset + 30 + name + extra
        if signature != b"PK\x03\x04" or start + size > stream.seek(0, os.SEEK_END):
            raise LoadError(f"load: expected {info.filename!r} to lie in the file")
        return start

    def storage(self, pid: Any, storages: dict[Any, tuple[Tensor, str]]) -> Tensor:
        """The storage that a pickle refers to; the same one each time."""
        key, size, dtype = named_storage(pid, 5)
        if key not in storages:
            storages[key] = self.read_storage(key, size, dtype), dtype
        flat, known = storages[key]
        if known != dtype or flat.numel() != size:
            raise LoadError(f"load: expected the storage {key!r} to be the same each time, got two kinds of it")
        return flat


def stored_type(dtype: str, order: str) -> numpy.dtype[Any]:
    """As what the elements of a storage lie in a file, where bytes are in this order."""
    return numpy.dtype("int16" if dtype == "bfloat16" else dtype).newbyteorder("<" if order == "little" else ">")


def as_elements(data: Any, dtype: str, stored: numpy.dtype[Any] | None = None) -> Tensor:
    """A 1-D tensor of the bytes that were read, or on the memory of an array."""
    if dtype == "bool":
        data = numpy.frombuffer(data, dtype=numpy.uint8) != 0
    elif stored is not None:
        data = numpy.frombuffer(data, stored).astype(stored.newbyteorder("="))
    elements = clew.from_numpy(numpy.asarray(data))
    return elements.view(clew.bfloat16) if dtype == "bfloat16" else elements


def named_storage(pid: Any, parts: int) -> tuple[str, int, str]:
    """The key, the size and the dtype of the storage that a pickle refers to."""
    if type(pid) is not tuple or len(pid) != parts or pid[0] != "storage" or type(pid[1]) is not StoredType:
        raise LoadError("load: expected a storage where the pickle refers to one")
    kind, key, _, size = pid[1:5]
    dtype = DTYPES_BY_STORAGE.get(kind.name)
    if dtype is None:
        raise UnsupportedStorage(f"load: tensors of {kind.name} are not supported")
    if type(size) is not int or size < 0 or type(key) is not str:
        raise LoadError(f"load: expected a storage's name and size, got {key!r} and {size!r}")
    return key, size, dtype


class StoredType:
    """Stands for a storage class of PyTorch's while loading."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
