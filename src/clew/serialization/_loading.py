"""Reads what was saved, and refuses what a file may not do."""

from __future__ import annotations

import io
import math
import os
import pickle
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import clew
from clew import Tensor

from ..nn.parameter import Parameter
from ._archive import DTYPES_BY_STORAGE, Archive, File, LoadError, StoredType, UnsupportedStorage
from ._safe_globals import safe_by_name
from ._weights import MAKERS, Maker, SafeMaker, WeightsUnpickler

_UNSUPPORTED_STORAGES = {"UntypedStorage", "QInt8Storage", "QUInt8Storage", "QInt32Storage"}

_UNSUPPORTED_TENSORS = {("torch._utils", "_rebuild_tensor_v3"), ("torch._utils", "_rebuild_qtensor")}

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

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"weight": torch.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        {'weight': tensor([1., 1.])}
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
        archive = Archive(zipped)
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
    except (LoadError, UnsupportedStorage):
        raise
    except broken as error:
        raise LoadError(f"load: expected a file that save wrote, got {f!r}: {error}") from error


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


def _rebuild_sparse(kind: Any, parts: Any) -> Tensor:
    """A sparse tensor of what it was made of; bad indices are refused as those of users."""
    if type(parts) is not tuple or len(parts) < 3:
        raise LoadError("load: expected the indices, the values and the size of a sparse tensor")
    try:
        if kind is clew.sparse_coo:
            with clew.sparse.check_sparse_tensor_invariants():
                return clew.sparse_coo_tensor(*parts[:3], is_coalesced=any(parts[3:]))
        return clew.sparse_compressed_tensor(*parts, layout=kind)
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise LoadError(f"load: a sparse tensor: {error}") from error


def _layout(name: Any) -> Any:
    found = getattr(clew, str(name).removeprefix("torch."), None)
    if not isinstance(found, clew.layout):
        raise LoadError(f"load: expected the name of a layout, got {name!r}")
    return found


_OURS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_sparse_tensor"): _rebuild_sparse,
    ("torch.serialization", "_get_layout"): _layout,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
}
_MAKERS = MAKERS | {name: Maker(make) for name, make in _OURS.items()}
_TYPES: dict[tuple[str, str], Any] = {("torch", "Size"): clew.Size, ("torch", "device"): clew.device}


def _stored_or_dtype(module: str, name: str) -> Any:
    """The storage class or dtype of PyTorch's that has this name; None if there is none."""
    if (module, name) in _UNSUPPORTED_TENSORS:
        raise UnsupportedStorage(
            "load: quantized tensors, and those of uint16, uint32, uint64 or 8-bit floats, are not supported"
        )
    if module != "torch":
        return None
    if name in DTYPES_BY_STORAGE or name in _UNSUPPORTED_STORAGES:
        return StoredType(name)
    kind = getattr(clew, name, None) if name.isidentifier() and not name.startswith("_") else None
    return kind if isinstance(kind, clew.dtype) else None


class _Weights(WeightsUnpickler):
    """Reads tensors and plain data, and nothing else."""

    def __init__(self, file: IO[bytes], archive: Archive) -> None:
        super().__init__(file)
        self.archive = archive
        self.storages: dict[Any, tuple[Tensor, str]] = {}

    def find_class(self, module: str, name: str) -> Any:
        """What makes the things that the pickle names."""
        found = _MAKERS.get((module, name)) or _stored_or_dtype(module, name)
        if found is None and (safe := safe_by_name().get(f"{module}.{name}")) is not None:
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
        return {one for one in safe_by_name().values() if isinstance(one, type)}

    def persistent_load(self, pid: Any) -> Tensor:
        """The storage that the pickle refers to, as a 1-D tensor."""
        return self.archive.storage(pid, self.storages)


class _Unpickler(pickle.Unpickler):
    """Reads any pickle, with PyTorch's names for our functions and classes."""

    def __init__(self, file: IO[bytes], archive: Archive) -> None:
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
