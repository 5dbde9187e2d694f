"""Files that hold tensors and a text about them: a safetensors file whose metadata are the text.

A file is what safetensors says: eight bytes with the length of the header, the header (JSON), and the bytes of the
tensors, one after the other. So other programs read the tensors; `__metadata__` has what they are to us, and a digest
of all of the file. Nothing in it is ever executed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..autograd.errors import ProgramError

_VERSION = 1
_LONGEST_HEADER = 1 << 28
_BLANK = "0" * 64
_KEYS = ("format", "version", "sha256", "content")


class Entry(NamedTuple):
    """A tensor of the file."""

    name: str
    dtype: str
    """As safetensors calls it: "F32"."""
    shape: tuple[int, ...]
    data: memoryview


def packed(kind: str, content: Any, entries: Sequence[Entry]) -> list[Any]:
    """The bytes of a file of that kind ("clew program"), in parts."""
    header: dict[str, Any] = {
        "__metadata__": dict(zip(_KEYS, (kind, str(_VERSION), _BLANK, json.dumps(content)), strict=True))
    }
    end = 0
    for one in entries:
        header[one.name] = {
            "dtype": one.dtype,
            "shape": list(one.shape),
            "data_offsets": [end, end + one.data.nbytes],
        }
        end += one.data.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256(text)
    for one in entries:
        digest.update(one.data)
    text = text.replace(_BLANK.encode(), digest.hexdigest().encode(), 1)
    return [len(text).to_bytes(8, "little") + text, *(one.data for one in entries)]


def write(path: str | os.PathLike[str], kind: str, content: Any, entries: Sequence[Entry]) -> None:
    """Write a file of that kind. It appears whole, or not at all."""
    parts = packed(kind, content, entries)
    target = Path(path)
    if not target.parent.is_dir():  # before a name is made that the caller has never heard of
        raise FileNotFoundError(errno.ENOENT, "expected a file in an existing folder", str(path))
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name, delete=False) as file:
        try:
            file.writelines(parts)
            file.close()
            os.replace(file.name, target)
        except BaseException:
            file.close()
            os.unlink(file.name)
            raise


def read(path: str | os.PathLike[str], kind: str) -> tuple[Any, dict[str, memoryview]]:
    """The content of a file of that kind, and the bytes of its tensors.

    Raises:
        ProgramError: it is no such file, or damaged.
        OSError: it can't be read.
    """
    return unpacked(Path(path).read_bytes(), kind)


def unpacked(data: bytes, kind: str) -> tuple[Any, dict[str, memoryview]]:
    """As `read`, of a file's bytes."""
    whole = memoryview(data)
    if data[8:9] not in (b"", b"{"):
        raise ProgramError(f"not a {kind}: expected a file that clew wrote, got {_looks_like(data)}")
    length = int.from_bytes(whole[:8], "little")
    _need(len(whole) >= 8 and length <= min(len(whole) - 8, _LONGEST_HEADER), "it is shorter than its header")
    text, rest = bytes(whole[8 : 8 + length]), whole[8 + length :]
    try:
        header = json.loads(text)
        metadata = header.pop("__metadata__")
        found, version, digest, content = (metadata[key] for key in _KEYS)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ProgramError(f"not a {kind}: expected a file that clew wrote, got another one") from None
    _need(found == kind, f"it is a file of another kind ({found!r:.60})")
    _need(version == str(_VERSION), f"it has version {version!r:.20}, and this clew reads version {_VERSION}")
    _need(isinstance(digest, str) and len(digest) == len(_BLANK), "it has no digest")
    blank = text.replace(digest.encode(), _BLANK.encode(), 1)
    _need(hashlib.sha256(b"".join((blank, rest))).hexdigest() == digest, "it is damaged: its digest does not match")
    try:
        return json.loads(content), {name: _slice(rest, one["data_offsets"]) for name, one in header.items()}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProgramError(f"the file is inconsistent: {error}") from None


def _looks_like(data: bytes) -> str:
    if data.startswith(b"PK"):
        return "a zip archive, as torch.save writes it: clew.load reads those"
    return "another one"


def _slice(data: memoryview, offsets: Any) -> memoryview:
    begin, end = offsets
    if not (type(begin) is type(end) is int and 0 <= begin <= end <= len(data)):
        raise ValueError("a tensor lies outside the file")
    return data[begin:end]


def _need(holds: bool, text: str) -> None:
    if not holds:
        raise ProgramError(f"expected a complete file of clew, but {text}")
