"""Saving to files and loading from them, in the format of PyTorch's `torch.save`.

A file is an uncompressed zip archive: `data.pkl`, a pickle of the object in which each tensor is its geometry and the
number of a storage, and `data/<number>`, the bytes of that storage. Tensors that share memory share it after loading.
The names in the pickle are PyTorch's, so that each can read the other's files.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import secrets
import stat
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy

import clew
from clew import Tensor

from ._storage import STORAGE_NAMES
from ._unsupported import missing_from as _missing_from
from ._weights import MAKERS, Maker, SafeMaker, WeightsUnpickler
from .nn.parameter import Parameter

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

__all__ = ["LoadError", "load", "save"]

File = str | os.PathLike[str] | IO[bytes]

DTYPES_BY_STORAGE = {storage: name for name, storage in STORAGE_NAMES.items()}
_UNSUPPORTED_STORAGES = {"HalfStorage", "BFloat16Storage", "CharStorage", "ShortStorage", "UntypedStorage"} | {
    "ComplexFloatStorage",
    "ComplexDoubleStorage",
    "QInt8Storage",
    "QUInt8Storage",
    "QInt32Storage",
}


def save(obj: Any, f: File) -> None:
    """Write `obj` (a tensor, or any picklable object with tensors in it) to a file.

    A file of that name is replaced when the new one is complete: whatever happens before leaves the old one as it was.

    Args:
        obj: what to save; a `state_dict()`, as a rule.
        f: a path, or a file open for writing bytes.

    >>> import clew, io
    >>> file = io.BytesIO()
    >>> clew.save({"weight": clew.tensor([1.0, 2.0])}, file)
    >>> _ = file.seek(0)
    >>> clew.load(file)
    {'weight': tensor([1., 2.])}
    """
    import zipfile

    storages = _Storages()
    # The first run only finds out how much of each storage is in use.
    for _ in range(2):
        pickled = io.BytesIO()
        _Pickler(pickled, storages).dump(obj)
    with _target(f) as target, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        archive.writestr("archive/byteorder", sys.byteorder)
        for key, flat in storages.flat.items():
            archive.writestr(f"archive/data/{key}", flat().tobytes())
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

    def add(self, tensor: Tensor, dtype: str) -> tuple[str, int]:
        """The key of the tensor's storage, and how many of its elements are known to be in use."""
        offset, sizes, strides = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
        address = tensor.data_ptr() - offset * tensor.element_size()
        key = self.keys.setdefault((address if tensor.numel() else 0, dtype), str(len(self.keys)))
        used = 0 if 0 in sizes else offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        if used >= self.sizes.get(key, 0):
            self.sizes[key] = used
            self.flat[key] = lambda: tensor.as_strided((used,), (1,), 0).numpy()
        return key, self.sizes[key]


class _Name:
    """A global of PyTorch's by which the pickle names a function or class of ours."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        raise AssertionError("stands in a pickle only")


_REBUILD_TENSOR = _Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = _Name("torch._utils", "_rebuild_parameter")
_SIZE = _Name("torch", "Size")
_DEVICE = _Name("torch", "device")


class _Storage:
    """Where a tensor's elements lie; pickled by its key."""

    def __init__(self, dtype: str, key: str, size: int) -> None:
        self.id = ("storage", _Name("torch", STORAGE_NAMES[dtype]), key, "cpu", size)


class _Pickler(pickle._Pickler):
    """Writes names that exist in PyTorch only; the C pickler would look them up first."""

    dispatch: ClassVar[Any] = dict(pickle._Pickler.dispatch)

    def __init__(self, file: IO[bytes], storages: _Storages) -> None:
        super().__init__(file, protocol=2)
        self.storages = storages

    def persistent_id(self, obj: Any) -> Any:
        return obj.id if isinstance(obj, _Storage) else None

    def reducer_override(self, obj: Any) -> Any:
        """How tensors, sizes and devices are written; the rest as it is by default."""
        if isinstance(obj, Parameter):
            return _REBUILD_PARAMETER, (obj.detach(), obj.requires_grad, OrderedDict())
        if isinstance(obj, Tensor):
            dtype = _dtype_name(obj.dtype)
            data = obj.detach()
            storage = _Storage(dtype, *self.storages.add(data, dtype))
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
        self.save_name(_Name("torch", _dtype_name(obj)))

    dispatch[_Name] = save_name
    dispatch[clew.dtype] = save_dtype


def _dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


class LoadError(pickle.UnpicklingError, RuntimeError):
    """A file that `load` does not read: it is damaged, was not written by `save`, or holds what is refused."""


# What zip archives and pickles that are broken make Python's readers raise, besides what says so.
_BROKEN = (
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    OverflowError,
    AssertionError,
    RuntimeError,
    OSError,
)


def load(f: File, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """What `save` (or PyTorch) wrote to the file.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: None or the CPU, the only device.
        weights_only: refuse everything but tensors, numbers, strings and plain containers. A pickle can run any code,
            so load other objects from files only that you trust.

    Raises:
        clew.serialization.LoadError: the file was not written by `save`, is damaged, or has objects that `weights_only`
            refuses. It is a `pickle.UnpicklingError` and a `RuntimeError`.
        NotImplementedError: it has tensors of a type that is not supported.
    """
    if map_location is not None and not callable(map_location) and str(map_location) != "cpu":
        raise NotImplementedError(f"load: map_location={map_location!r} is not supported; the only device is the CPU")
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as stream:
            return _loaded(stream, f, weights_only)
    if not hasattr(f, "read") or not hasattr(f, "seek"):
        raise AttributeError(f"load: expected a path or a seekable file open for reading bytes, got {type(f).__name__}")
    return _loaded(f, f, weights_only)


def _loaded(stream: IO[bytes], f: File, weights_only: bool) -> Any:
    import zipfile
    import zlib

    damaged = (pickle.UnpicklingError, EOFError, struct.error, zipfile.BadZipFile, zlib.error)
    with _refusing(f, (*_BROKEN, *damaged)), zipfile.ZipFile(stream) as zipped:
        archive = _Archive(zipped)
        pickled = io.BytesIO(archive.read_pickle())
        if weights_only:
            return _Weights(pickled, archive).load()
        with _refusing(f, damaged):
            try:
                return _Unpickler(pickled, archive).load()
            except damaged:
                raise
            except Exception as error:  # of a class of the user's, perhaps
                failed = error
    raise failed


@contextmanager
def _refusing(f: File, broken: tuple[type[Exception], ...]) -> Iterator[None]:
    """Make one error of all that broken files raise."""
    try:
        yield
    except (LoadError, _UnsupportedStorage):
        raise
    except broken as error:
        raise LoadError(f"load: expected a file that save wrote, got {f!r}: {error}") from error


class _UnsupportedStorage(NotImplementedError):
    """The file is in order, but has tensors of a type that is not supported."""


class _Archive:
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
        stored = numpy.dtype(dtype).newbyteorder("<" if self.order == "little" else ">")
        size = count * stored.itemsize
        info = self.records.get(f"data/{key}")
        if info is None or info.file_size != size:
            found = "none" if info is None else f"{info.file_size}"
            raise LoadError(f"load: expected {size} bytes of the storage {key!r}, got {found}")
        data = self._read(info, size)
        values = numpy.frombuffer(data, dtype=numpy.uint8) != 0 if dtype == "bool" else numpy.frombuffer(data, stored)
        return clew.from_numpy(values.astype(dtype))

    def storage(self, pid: Any, storages: dict[Any, tuple[Tensor, str]]) -> Tensor:
        """The storage that a pickle refers to; the same one each time."""
        if type(pid) is not tuple or len(pid) != 5 or pid[0] != "storage" or type(pid[1]) is not _StoredType:
            raise LoadError("load: expected a storage where the pickle refers to one")
        _, kind, key, _, size = pid
        dtype = DTYPES_BY_STORAGE.get(kind.name)
        if dtype is None:
            raise _UnsupportedStorage(f"load: tensors of {kind.name} are not supported")
        if type(size) is not int or size < 0 or type(key) is not str:
            raise LoadError(f"load: expected a storage's name and size, got {key!r} and {size!r}")
        if key not in storages:
            storages[key] = self.read_storage(key, size, dtype), dtype
        flat, known = storages[key]
        if known != dtype or flat.numel() != size:
            raise LoadError(f"load: expected the storage {key!r} to be the same each time, got two kinds of it")
        return flat


class _StoredType:
    """Stands for a storage class of PyTorch's while loading."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _rebuild_tensor(flat: Any, offset: Any, sizes: Any, strides: Any, requires_grad: Any, *rest: Any) -> Tensor:
    geometry = (offset, *sizes, *strides)
    if type(flat) is not Tensor or not all(type(number) is int and number >= 0 for number in geometry):
        raise LoadError("load: expected a storage, and sizes and strides that are not negative, for each tensor")
    reach = offset + 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True)) if 0 not in sizes else 0
    if reach > flat.numel() or math.prod(n for n in sizes if n) >= 1 << 63 or offset >= 1 << 63:
        raise LoadError(
            f"load: expected a tensor inside its storage of {flat.numel()} elements, got sizes {sizes}, strides "
            f"{strides} and offset {offset}"
        )
    return flat.as_strided(sizes, strides, offset).requires_grad_(bool(requires_grad))


def _rebuild_parameter(data: Any, requires_grad: Any, *rest: Any) -> Parameter:
    if not isinstance(data, Tensor):
        raise LoadError(f"load: expected a tensor as a parameter's data, got {type(data).__name__}")
    return Parameter(data, bool(requires_grad))


_OURS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
}
_MAKERS = MAKERS | {name: Maker(make) for name, make in _OURS.items()}
_TYPES: dict[tuple[str, str], Any] = {("torch", "Size"): clew.Size, ("torch", "device"): clew.device}


def _stored_or_dtype(module: str, name: str) -> Any:
    """The storage class or dtype of PyTorch's that has this name; None if there is none."""
    if module != "torch":
        return None
    if name in DTYPES_BY_STORAGE or name in _UNSUPPORTED_STORAGES:
        return _StoredType(name)
    kind = getattr(clew, name, None) if name.isidentifier() and not name.startswith("_") else None
    return kind if isinstance(kind, clew.dtype) else None


_safe: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let `load` with `weights_only=True` make objects of these classes, and call these functions.

    Args:
        safe_globals: classes and functions, or pairs of one and the name under which files have it.
    """
    _safe.extend(one for one in safe_globals if one not in _safe)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` allowed."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Allow nothing more than tensors and plain data."""
    _safe.clear()


class safe_globals:
    """`add_safe_globals` for a block.

    >>> import clew
    >>> with clew.serialization.safe_globals([dict]):
    ...     clew.serialization.get_safe_globals()
    [<class 'dict'>]
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self._added = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(self, *exception: Any) -> None:
        _safe[:] = self._before


def _safe_by_name() -> dict[str, Any]:
    pairs = (one if isinstance(one, tuple) else (one, f"{one.__module__}.{one.__qualname__}") for one in _safe)
    return {name: one for one, name in pairs}


class _Weights(WeightsUnpickler):
    """Reads tensors and plain data, and nothing else."""

    def __init__(self, file: IO[bytes], archive: _Archive) -> None:
        super().__init__(file)
        self.archive = archive
        self.storages: dict[Any, tuple[Tensor, str]] = {}

    def find_class(self, module: str, name: str) -> Any:
        """What makes the things that the pickle names."""
        found = _MAKERS.get((module, name)) or _stored_or_dtype(module, name)
        if found is None and (safe := _safe_by_name().get(f"{module}.{name}")) is not None:
            return SafeMaker(safe)
        if found is None:
            raise LoadError(
                f"Weights only load failed: the file has an object of {module}.{name}. If you trust its class, allow "
                "it by add_safe_globals. If you trust the file, load it with weights_only=False; it can then run any "
                "code."
            )
        return found

    def safe_classes(self) -> set[type]:
        """What `add_safe_globals` allowed."""
        return {one for one in _safe_by_name().values() if isinstance(one, type)}

    def persistent_load(self, pid: Any) -> Tensor:
        """The storage that the pickle refers to, as a 1-D tensor."""
        return self.archive.storage(pid, self.storages)


class _Unpickler(pickle.Unpickler):
    """Reads any pickle, with PyTorch's names for our functions and classes."""

    def __init__(self, file: IO[bytes], archive: _Archive) -> None:
        super().__init__(file)
        self.archive = archive
        self.storages: dict[Any, tuple[Tensor, str]] = {}

    def find_class(self, module: str, name: str) -> Any:
        """The function or class that the pickle names."""
        ours = _OURS.get((module, name)) or _TYPES.get((module, name)) or _stored_or_dtype(module, name)
        return super().find_class(module, name) if ours is None else ours

    def persistent_load(self, pid: Any) -> Tensor:
        """The storage that the pickle refers to, as a 1-D tensor."""
        return self.archive.storage(pid, self.storages)


__getattr__ = _missing_from(__name__)
