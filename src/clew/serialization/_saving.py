"""Writes objects with tensors in them: the pickle, the storages that it refers to, the file that holds both."""

from __future__ import annotations

import io
import os
import pickle
import secrets
import stat
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, ClassVar

import numpy

import clew
from clew import Tensor, _core

from .._storage import STORAGE_NAMES
from ..nn.parameter import Parameter
from ._archive import File
from ._legacy import MAGIC_NUMBER, PROTOCOL_VERSION, system, write_storages

_ALIGNMENT = 64  # of the bytes of a storage in the file, so that they can be mapped into memory


def save(
    obj: Any,
    f: File,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write `obj` (a tensor, or any picklable object with tensors in it) to a file.

    A file of that name is replaced when the new one is complete: whatever happens before leaves the old one as it was.

    Args:
        obj: what to save; a `state_dict()`, as a rule.
        f: a path, or a file open for writing bytes.
        pickle_module: Python's.
        pickle_protocol: of the pickle in the file.
        _use_new_zipfile_serialization: False writes a file that PyTorch before 1.6 reads.

    Raises:
        NotImplementedError: another `pickle_module`.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"weight": torch.tensor([1.0, 2.0])}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        {'weight': tensor([1., 2.])}
    """
    import zipfile

    if pickle_module is not pickle:
        name = getattr(pickle_module, "__name__", pickle_module)
        raise NotImplementedError(f"save: pickle_module={name} is not supported; only Python's pickle is")
    storages = _Storages()
    legacy = not _use_new_zipfile_serialization
    # The first run only finds out how much of each storage is in use.
    for _ in range(2):
        pickled = io.BytesIO()
        _Pickler(pickled, storages, pickle_protocol, legacy).dump(obj)
    if legacy:
        with _target(f) as target:
            for head in (MAGIC_NUMBER, PROTOCOL_VERSION, system()):
                pickle.dump(head, target, pickle_protocol)
            target.write(pickled.getvalue())
            pickle.dump(sorted(storages.flat), target, pickle_protocol)
            write_storages(target, storages.flat, storages.items)
        return
    with _target(f) as target, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        if not _disable_byteorder_record:
            archive.writestr("archive/byteorder", sys.byteorder)
        for key, flat in storages.flat.items():
            info = zipfile.ZipInfo(f"archive/data/{key}")
            stream: Any = archive.fp
            padding = -(stream.tell() + 30 + len(info.filename) + 4) % _ALIGNMENT
            info.extra = struct.pack("<HH", 0x4246, padding) + bytes(padding)  # a field that readers skip, as PyTorch's
            archive.writestr(info, flat().tobytes())
        archive.writestr("archive/version", "3\n")


@contextmanager
def _target(f: File) -> Iterator[IO[bytes]]:
    """Where to write: a file beside the one that is asked for, which takes its place at the end."""
    if not isinstance(f, str | os.PathLike):
        yield f
        return
    path = os.path.realpath(f)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):  # a device or a pipe: there is nothing to replace
        with open(path, "wb") as stream:
            yield stream
        return
    beside = f"{path}.{secrets.token_hex(4)}.part"
    try:
        with open(beside, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(beside, stat.S_IMODE(mode))
        os.replace(beside, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise


class _Storages:
    """The storages that were met while pickling, by address and type."""

    def __init__(self) -> None:
        self.keys: dict[tuple[int, str], str] = {}
        self.sizes: dict[str, int] = {}
        self.flat: dict[str, Callable[[], numpy.ndarray[Any, Any]]] = {}
        self.items: dict[str, int] = {}  # the bytes of an element

    def add(self, tensor: Tensor, dtype: str) -> tuple[str, int]:
        """The key of the tensor's storage, and how many of its elements are known to be in use."""
        offset, sizes, strides = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
        address = tensor.data_ptr() - offset * tensor.element_size()
        key = self.keys.setdefault((address if tensor.numel() else 0, dtype), str(len(self.keys)))
        used = 0 if 0 in sizes else offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        self.items[key] = tensor.element_size()
        if used >= self.sizes.get(key, 0):
            self.sizes[key] = used
            self.flat[key] = lambda: tensor.as_strided((used,), (1,), 0).view(clew.uint8).numpy()
        return key, self.sizes[key]


class _Name:
    """A global of PyTorch's by which the pickle names a function or class of ours."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        raise AssertionError("stands in a pickle only")


_REBUILD_TENSOR = _Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = _Name("torch._utils", "_rebuild_parameter")
_REBUILD_SPARSE = _Name("torch._utils", "_rebuild_sparse_tensor")
_GET_LAYOUT = _Name("torch.serialization", "_get_layout")
_SIZE = _Name("torch", "Size")
_DEVICE = _Name("torch", "device")


class _Storage:
    """Where a tensor's elements lie; pickled by its key."""

    def __init__(self, dtype: str, key: str, size: int, legacy: bool) -> None:
        self.id = ("storage", _Name("torch", STORAGE_NAMES[dtype]), key, "cpu", size, *((None,) if legacy else ()))


def _sparse_parts(sparse: Any) -> tuple[Any, ...]:
    """What a sparse tensor is made of, in PyTorch's order."""
    if sparse.layout is clew.sparse_coo:
        return sparse._indices(), sparse._values(), sparse.shape, sparse.is_coalesced()
    if sparse.layout is clew.sparse_csr:
        return sparse.crow_indices(), sparse.col_indices(), sparse.values(), sparse.shape
    return sparse.ccol_indices(), sparse.row_indices(), sparse.values(), sparse.shape


class _Pickler(pickle._Pickler):
    """Writes names that exist in PyTorch only; the C pickler would look them up first."""

    dispatch: ClassVar[Any] = dict(pickle._Pickler.dispatch)

    def __init__(self, file: IO[bytes], storages: _Storages, protocol: int, legacy: bool) -> None:
        super().__init__(file, protocol=protocol)
        self.storages, self.legacy = storages, legacy

    def persistent_id(self, obj: Any) -> Any:
        return obj.id if isinstance(obj, _Storage) else None

    def reducer_override(self, obj: Any) -> Any:
        """How tensors, sizes and devices are written; the rest as it is by default."""
        if isinstance(obj, Parameter):
            return _REBUILD_PARAMETER, (obj.detach(), obj.requires_grad, OrderedDict())
        if isinstance(obj, Tensor) and obj.layout is not clew.strided:
            return _REBUILD_SPARSE, (obj.layout, _sparse_parts(obj.detach()))
        if isinstance(obj, clew.layout):
            return _GET_LAYOUT, (f"torch.{obj.name}",)
        if isinstance(obj, Tensor):
            dtype = _core.dtype_name(obj.dtype)
            data = obj.detach()
            storage = _Storage(dtype, *self.storages.add(data, dtype), self.legacy)
            geometry = data.storage_offset(), tuple(data.shape), tuple(data.stride())
            return _REBUILD_TENSOR, (storage, *geometry, obj.requires_grad, OrderedDict())
        if isinstance(obj, clew.Size):
            return _SIZE, (tuple(obj),)
        if isinstance(obj, clew.device):
            return _DEVICE, (str(obj),)
        return NotImplemented

    def save_name(self, obj: _Name) -> None:
        """Write a global without looking it up."""
        writer: Any = self  # the type stubs leave these methods out
        writer.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        writer.memoize(obj)

    def save_dtype(self, obj: Any) -> None:
        """Write a dtype as PyTorch's of the same name."""
        self.save_name(_Name("torch", _core.dtype_name(obj)))

    dispatch[_Name] = save_name
    dispatch[clew.dtype] = save_dtype
