"""Reads what was saved, and refuses what a file may not do."""

from __future__ import annotations

import contextlib
import functools
import io
import math
import os
import pickle
import pickletools
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import clew
from clew import Tensor

from ..nn.parameter import Parameter
from ._archive import DTYPES_BY_STORAGE, Archive, File, LoadError, StoredType, UnsupportedStorage
from ._legacy import LegacyFile
from ._safe_globals import safe_by_name
from ._weights import MAKERS, Maker, SafeMaker, WeightsUnpickler

_Storages = dict[Any, tuple[Tensor, str]]  # those that were met, by their keys

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


def load(
    f: File,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """What `save` (or PyTorch) wrote to the file.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: None or the CPU, the only device.
        pickle_module: whose `Unpickler` reads what is trusted; Python's by default.
        weights_only: refuse everything but tensors, numbers, strings and plain containers: the default, unless a
            `pickle_module` is given. A pickle can run any code, so load other objects from files only that you trust.
        mmap: have the tensors on the memory of the file, which is read when they are. What is written to them does not
            go to the file. It takes a path.
        pickle_load_args: `encoding=` and others of the unpickler.

    Raises:
        clew.serialization.LoadError: the file was not written by `save`, is damaged, or has objects that `weights_only`
            refuses. It is a `pickle.UnpicklingError` and a `RuntimeError`.
        NotImplementedError: it has tensors of a type that is not supported.
        RuntimeError: `mmap` of what is not a path, or of a file from before PyTorch 1.6; `weights_only` with a
            `pickle_module`.

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
    if weights_only and pickle_module is not None:
        raise RuntimeError("load: can not safely load weights when explicit pickle_module is specified")
    if mmap and not isinstance(f, str | os.PathLike):
        raise ValueError("load: f must be a file path in order to use the mmap argument")
    how = _How(pickle_module is None if weights_only is None else weights_only, pickle_module, pickle_load_args)
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as stream:
            return _loaded(stream, f, how, f if mmap else None)
    if not hasattr(f, "read") or not hasattr(f, "seek"):
        raise AttributeError(f"load: expected a path or a seekable file open for reading bytes, got {type(f).__name__}")
    return _loaded(f, f, how, None)


def get_unsafe_globals_in_checkpoint(f: File) -> list[str]:
    """What a file names that `load(weights_only=True)` refuses, and `add_safe_globals` may allow.

    Example:
        >>> import fractions, io
        >>> file = io.BytesIO()
        >>> torch.save(fractions.Fraction(1, 2), file)
        >>> _ = file.seek(0)
        >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
        ['fractions.Fraction']
    """
    import zipfile

    with contextlib.ExitStack() as stack:
        stream: Any = f if hasattr(f, "read") else stack.enter_context(open(f, "rb"))
        with _refusing(f, (*_BROKEN, zipfile.BadZipFile)):
            pickled = Archive(stack.enter_context(zipfile.ZipFile(stream))).read_pickle()
        names: list[str] = []
        texts, memo, last = [""], list[Any](), None  # the strings that were pushed, what is numbered, what came last
        argument: Any
        for opcode, argument, _ in pickletools.genops(pickled):
            if opcode.name == "GLOBAL":
                names.append(argument.replace(" ", "."))
            elif opcode.name == "STACK_GLOBAL":
                names.append(".".join(texts[-2:]))
            elif opcode.name == "MEMOIZE":
                memo.append(last)
            last = memo[argument] if opcode.name in ("BINGET", "LONG_BINGET") and argument < len(memo) else argument
            if isinstance(last, str):
                texts.append(last)
    known = {f"{module}.{name}" for module, name in _MAKERS}
    return [
        name
        for name in dict.fromkeys(names)
        if name not in known and name not in safe_by_name() and _stored_or_dtype(*name.rsplit(".", 1)) is None
    ]


class _How(NamedTuple):
    """What reads a pickle."""

    weights_only: bool
    pickle_module: Any
    options: dict[str, Any]

    def read(self, stream: IO[bytes], archive: Archive | LegacyFile, storages: _Storages) -> Any:
        """The next object of the stream."""
        if self.weights_only:
            return _Weights(stream, archive, storages, self.options).load()
        made = _unpickler(pickle if self.pickle_module is None else self.pickle_module)
        return made(stream, archive, storages, self.options).load()


def _loaded(stream: IO[bytes], f: File, how: _How, mapped: Any) -> Any:
    import zipfile
    import zlib

    damaged = (pickle.UnpicklingError, EOFError, struct.error, zipfile.BadZipFile, zlib.error)
    storages: _Storages = {}

    def trusted(stream: IO[bytes], archive: Archive | LegacyFile) -> Any:
        if how.weights_only:
            return how.read(stream, archive, storages)
        with _refusing(f, damaged):
            try:
                return how.read(stream, archive, storages)
            except (LoadError, UnsupportedStorage, *damaged):
                raise
            except Exception as error:
                raise _OfUsersClass(error) from error

    try:
        with _refusing(f, (*_BROKEN, *damaged)):
            return _read_file(stream, how, mapped, storages, trusted)
    except _OfUsersClass as carried:
        failed = carried.args[0]
    raise failed


class _OfUsersClass(Exception):
    """Carries what a class of the user's raised, which is not the file's fault."""


def _read_file(
    stream: IO[bytes],
    how: _How,
    mapped: Any,
    storages: _Storages,
    read_object: Callable[[IO[bytes], Archive | LegacyFile], Any],
) -> Any:
    import zipfile

    here = stream.tell()
    begin = stream.read(1)
    stream.seek(here)
    if begin != pickle.PROTO:
        with zipfile.ZipFile(stream) as zipped:
            archive = Archive(zipped, mapped)
            return read_object(io.BytesIO(archive.read_pickle()), archive)
    if mapped is not None:
        raise LoadError(
            "load: mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`"
        )
    legacy, plain = LegacyFile(stream), _How(True, None, {})
    legacy.read_head(lambda: plain.read(stream, legacy, {}))
    made = read_object(stream, legacy)
    legacy.read_storages(plain.read(stream, legacy, {}), storages)
    return made


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
    ("torch._utils", "_rebuild_tensor"): lambda *geometry: _rebuild_tensor(*geometry, False),
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


class _OfFile:
    """The part of an unpickler that knows the file of its pickle."""

    def __init__(
        self, file: IO[bytes], archive: Archive | LegacyFile, storages: _Storages, options: dict[str, Any]
    ) -> None:
        super().__init__(file, **options)  # type: ignore[call-arg]
        self.archive, self.storages = archive, storages


class _Weights(_OfFile, WeightsUnpickler):
    """Reads tensors and plain data, and nothing else."""

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


@functools.cache
def _unpickler(module: Any) -> Any:
    """Reads any pickle as this module does, with PyTorch's names for our functions and classes."""

    class Unpickler(_OfFile, module.Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            """The function or class that the pickle names."""
            ours = _OURS.get((module, name)) or _TYPES.get((module, name)) or _stored_or_dtype(module, name)
            return super().find_class(module, name) if ours is None else ours

        def persistent_load(self, pid: Any) -> Any:
            """The storage that the pickle refers to, as a 1-D tensor; or a class, which comes with its source."""
            if type(pid) is tuple and pid[:1] == ("module",) and len(pid) == 4:
                return pid[1]
            return self.archive.storage(pid, self.storages)

    return Unpickler
