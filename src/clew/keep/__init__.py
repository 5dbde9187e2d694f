"""Programs that were run once and can be run again: `keep_graph`, `Program`, `pure`, `load_program`.

docs/keeping.md says what is promised and what is refused.
"""

from ..autograd.errors import KeepError, KeepWarning, ProgramError, ReplayError
from .block import keep_graph
from .compiled import compile
from .program import Input, Program, load_program
from .python_steps import pure
from .values import Step

__all__ = [
    "Input",
    "KeepError",
    "KeepWarning",
    "Program",
    "ProgramError",
    "ReplayError",
    "Step",
    "compile",
    "keep_graph",
    "load_program",
    "pure",
]
