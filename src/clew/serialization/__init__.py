"""Saving to files and loading from them, in the format of PyTorch's `torch.save`.

A file is an uncompressed zip archive: `data.pkl`, a pickle of the object in which each tensor is its geometry and the
number of a storage, and `data/<number>`, the bytes of that storage. Tensors that share memory share it after loading.
The names in the pickle are PyTorch's, so that each can read the other's files.
"""

from __future__ import annotations

import os as _os
import pickle as pickle  # libraries take it from here
from collections.abc import Callable
from typing import IO, Any, TypeAlias

from .._device import device as _device
from .._unsupported import missing_from
from ._archive import LoadError
from ._legacy import MAGIC_NUMBER as MAGIC_NUMBER
from ._legacy import PROTOCOL_VERSION as PROTOCOL_VERSION
from ._loading import get_unsafe_globals_in_checkpoint, load
from ._safe_globals import add_safe_globals as add_safe_globals
from ._safe_globals import clear_safe_globals as clear_safe_globals
from ._safe_globals import get_safe_globals as get_safe_globals
from ._safe_globals import safe_globals as safe_globals
from ._saving import save

__all__ = ["LoadError", "get_unsafe_globals_in_checkpoint", "load", "save"]

DEFAULT_PROTOCOL = 2
STORAGE_KEY_SEPARATOR = ","
FILE_LIKE: TypeAlias = str | _os.PathLike[str] | IO[bytes]
FileLike: TypeAlias = FILE_LIKE
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | _device | str | dict[str, str] | None


class SourceChangeWarning(Warning):
    """That the source of a class in a file is no longer what it was; files that `save` writes have no sources."""


__getattr__ = missing_from(__name__)
