"""A file that was saved, record by record, and what is wrong with it."""

from __future__ import annotations

import os
import pickle
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

    def __init__(self, zipped: ZipFile) -> None:
        self.zipped = zipped
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
        name = "int16" if dtype == "bfloat16" else dtype
        stored = numpy.dtype(name).newbyteorder("<" if self.order == "little" else ">")
        size = count * stored.itemsize
        info = self.records.get(f"data/{key}")
        if info is None or info.file_size != size:
            found = "none" if info is None else f"{info.file_size}"
            raise LoadError(f"load: expected {size} bytes of the storage {key!r}, got {found}")
        data = self._read(info, size)
        values = numpy.frombuffer(data, dtype=numpy.uint8) != 0 if dtype == "bool" else numpy.frombuffer(data, stored)
        elements = clew.from_numpy(values.astype(name))
        return elements.view(clew.bfloat16) if dtype == "bfloat16" else elements

    def storage(self, pid: Any, storages: dict[Any, tuple[Tensor, str]]) -> Tensor:
        """The storage that a pickle refers to; the same one each time."""
        if type(pid) is not tuple or len(pid) != 5 or pid[0] != "storage" or type(pid[1]) is not StoredType:
            raise LoadError("load: expected a storage where the pickle refers to one")
        _, kind, key, _, size = pid
        dtype = DTYPES_BY_STORAGE.get(kind.name)
        if dtype is None:
            raise UnsupportedStorage(f"load: tensors of {kind.name} are not supported")
        if type(size) is not int or size < 0 or type(key) is not str:
            raise LoadError(f"load: expected a storage's name and size, got {key!r} and {size!r}")
        if key not in storages:
            storages[key] = self.read_storage(key, size, dtype), dtype
        flat, known = storages[key]
        if known != dtype or flat.numel() != size:
            raise LoadError(f"load: expected the storage {key!r} to be the same each time, got two kinds of it")
        return flat


class StoredType:
    """Stands for a storage class of PyTorch's while loading."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
