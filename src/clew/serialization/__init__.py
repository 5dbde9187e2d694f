"""Saving to files and loading from them, in the format of PyTorch's `torch.save`.

A file is an uncompressed zip archive: `data.pkl`, a pickle of the object in which each tensor is its geometry and the
number of a storage, and `data/<number>`, the bytes of that storage. Tensors that share memory share it after loading.
The names in the pickle are PyTorch's, so that each can read the other's files.
"""

from __future__ import annotations

from .._unsupported import missing_from
from ._archive import LoadError
from ._loading import load
from ._safe_globals import add_safe_globals as add_safe_globals
from ._safe_globals import clear_safe_globals as clear_safe_globals
from ._safe_globals import get_safe_globals as get_safe_globals
from ._safe_globals import safe_globals as safe_globals
from ._saving import save

__all__ = ["LoadError", "load", "save"]

__getattr__ = missing_from(__name__)
