"""Saving to files and loading from them, in the format of PyTorch's `torch.save`.

A file is an uncompressed zip archive: `data.pkl`, a pickle of the object in which each tensor is its geometry and the
number of a storage, and `data/<number>`, the bytes of that storage. Tensors that share memory share it after loading.
The names in the pickle are PyTorch's, so that each can read the other's files.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any, ClassVar

import numpy

import clew
from clew import Tensor

from .nn.parameter import Parameter

__all__ = ["load", "save"]

File = str | os.PathLike[str] | IO[bytes]

STORAGE_NAMES = {
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
}
DTYPES_BY_STORAGE = {storage: name for name, storage in STORAGE_NAMES.items()}


def save(obj: Any, f: File) -> None:
    """Write `obj` (a tensor, or any picklable object with tensors in it) to a file.

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
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        archive.writestr("archive/byteorder", sys.byteorder)
        for key, flat in storages.flat.items():
            archive.writestr(f"archive/data/{key}", flat().tobytes())
        archive.writestr("archive/version", "3\n")


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


def load(f: File, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """What `save` (or PyTorch) wrote to the file.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: None or the CPU, the only device.
        weights_only: refuse everything but tensors, numbers, strings and plain containers. A pickle can run any code,
            so load other objects from files only that you trust.

    Raises:
        RuntimeError: the file was not written by `save`.
        pickle.UnpicklingError: it has objects that `weights_only` refuses.
        NotImplementedError: it has tensors of a type that is not supported.
    """
    import zipfile

    if map_location is not None and not callable(map_location) and str(map_location) != "cpu":
        raise NotImplementedError(f"load: map_location={map_location!r} is not supported; the only device is the CPU")
    try:
        archive = zipfile.ZipFile(f)
    except zipfile.BadZipFile:
        raise RuntimeError(f"load: expected a file that save wrote (a zip archive), got {f!r}") from None
    with archive:
        records = {name.partition("/")[2]: name for name in archive.namelist()}
        if "data.pkl" not in records:
            raise RuntimeError(f"load: expected a file that save wrote (with a data.pkl in it), got {f!r}")
        order = archive.read(records["byteorder"]).decode() if "byteorder" in records else "little"
        with archive.open(records["data.pkl"]) as pickled:
            reader = _Unpickler(pickled, lambda key: archive.read(records[f"data/{key}"]), order, weights_only)
            return reader.load()


class _StoredType:
    """Stands for a storage class of PyTorch's while loading."""

    def __init__(self, name: str) -> None:
        self.name = name


def _rebuild_tensor(
    flat: Tensor, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...], requires_grad: bool, *rest: Any
) -> Tensor:
    return flat.as_strided(sizes, strides, offset).requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, *rest: Any) -> Parameter:
    return Parameter(data, requires_grad)


_OURS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch", "Size"): clew.Size,
    ("torch", "device"): clew.device,
    ("collections", "OrderedDict"): OrderedDict,
    ("builtins", "set"): set,
    ("__builtin__", "set"): set,
    ("builtins", "complex"): complex,
    ("__builtin__", "complex"): complex,
}


class _Unpickler(pickle.Unpickler):
    """Reads a pickle, with PyTorch's names for our functions and classes."""

    def __init__(self, file: IO[bytes], read: Callable[[str], bytes], order: str, weights_only: bool) -> None:
        super().__init__(file)
        self.read_storage, self.order, self.weights_only = read, order, weights_only
        self.storages: dict[str, Tensor] = {}

    def find_class(self, module: str, name: str) -> Any:
        """The function or class that the pickle names."""
        if (module, name) in _OURS:
            return _OURS[module, name]
        if module == "torch" and name.endswith("Storage"):
            return _StoredType(name)
        if module == "torch" and isinstance(getattr(clew, name, None), clew.dtype):
            return getattr(clew, name)
        if not self.weights_only:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Weights only load failed: the file has an object of {module}.{name}. If you trust the file, load it with "
            "weights_only=False; it can then run any code."
        )

    def persistent_load(self, pid: Any) -> Tensor:
        """The storage that the pickle refers to, as a 1-D tensor."""
        _, kind, key, _, size = pid
        if key not in self.storages:
            name = DTYPES_BY_STORAGE.get(getattr(kind, "name", ""))
            if name is None:
                raise NotImplementedError(f"load: tensors of {getattr(kind, 'name', kind)} are not supported")
            stored = numpy.dtype(name).newbyteorder("<" if self.order == "little" else ">")
            values = numpy.frombuffer(self.read_storage(key), dtype=stored, count=size)
            self.storages[key] = clew.from_numpy(values.astype(name))
        return self.storages[key]
