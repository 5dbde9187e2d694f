"""Where the matrix products' library is. The core opens it when the first large product comes."""

from __future__ import annotations

import glob
import os
from importlib.util import find_spec

from . import _core


def set_library() -> None:
    """Tell the core the file of OpenBLAS in the package scipy-openblas32, without importing that."""
    spec = find_spec("scipy_openblas32")
    for folder in spec.submodule_search_locations or () if spec else ():
        for file in glob.glob(os.path.join(folder, "lib", "libscipy_openblas*.*")):
            if ".so" in os.path.basename(file) or file.endswith((".dylib", ".dll")):
                _core.set_blas_path(file)
                return
