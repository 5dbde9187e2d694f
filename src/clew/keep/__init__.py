"""Programs that were run once and can be run again: `keep_graph`, `Program`, `pure`, `load_program`.

docs/keeping.md says what is promised and what is refused.
"""

from ..autograd.errors import KeepError, ProgramError, ReplayError
from .block import keep_graph
from .files import load_program
from .program import Input, Program, Step
from .python_steps import pure

__all__ = [
    "Input",
    "KeepError",
    "Program",
    "ProgramError",
    "ReplayError",
    "Step",
    "keep_graph",
    "load_program",
    "pure",
]
