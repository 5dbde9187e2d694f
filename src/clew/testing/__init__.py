"""For tests: are two results as close as their dtype allows?"""

from .._unsupported import missing_from as _missing_from
from .comparison import assert_allclose, assert_close

__all__ = ["assert_allclose", "assert_close"]

__getattr__ = _missing_from(__name__)
