"""Programs that were run once and can be run again: `keep_graph`, `Program`, `pure`.

docs/keeping.md says what is promised and what is refused.
"""

from ..autograd.errors import KeepError, ReplayError
from .block import keep_graph
from .program import Input, Program, Step
from .python_steps import pure

__all__ = ["Input", "KeepError", "Program", "ReplayError", "Step", "keep_graph", "pure"]
