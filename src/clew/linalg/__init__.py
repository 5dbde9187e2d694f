"""Linear algebra: factorizations, systems, norms, over batches of matrices, with derivatives of any order.

LU factors and systems of equations are computed in the core, other decompositions by the LAPACK that NumPy has. What
would take a complex decomposition says so.
"""

from __future__ import annotations

from .._methods import publish
from .._unsupported import missing_from
from . import (
    _determinants,
    _lu,
    _matrix_functions,
    _norms,
    _products,
    _pseudoinverse,
    _qr,
    _spectral,
    _systems,
    _triangular,
)
from ._checks import LinAlgError as LinAlgError
from ._determinants import *  # noqa: F403
from ._lu import *  # noqa: F403
from ._matrix_functions import *  # noqa: F403
from ._norms import *  # noqa: F403
from ._products import *  # noqa: F403
from ._pseudoinverse import *  # noqa: F403
from ._qr import *  # noqa: F403
from ._spectral import *  # noqa: F403
from ._systems import *  # noqa: F403
from ._triangular import *  # noqa: F403

__all__ = [
    "LinAlgError",
    *_determinants.__all__,
    *_lu.__all__,
    *_matrix_functions.__all__,
    *_norms.__all__,
    *_products.__all__,
    *_pseudoinverse.__all__,
    *_qr.__all__,
    *_spectral.__all__,
    *_systems.__all__,
    *_triangular.__all__,
]

publish(__all__, globals(), __name__)
__getattr__ = missing_from(__name__)
