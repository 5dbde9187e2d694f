"""For tests: are two results as close as their dtype allows?"""

from .comparison import assert_close

__all__ = ["assert_close"]
