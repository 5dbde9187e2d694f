"""What arguments tests may call a function with that is written in Python; native operations say so in their struct.

And NumPy's names of arguments, which PyTorch's functions take where they are written in C++.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def domain(text: str) -> Callable[[_Function], _Function]:
    """Note the domain of a public function beside its definition, in the notation of tests/sampling.py.

    Generated tests call the function with samples of it, and fail for one that says nothing. It costs nothing per call.
    """

    def note(function: _Function) -> _Function:
        function.__dict__["domain"] = text
        native = function.__module__.startswith(("clew.ops.", "clew.linalg.", "clew.fft."))
        return with_numpys_names(function) if native else function

    return note


def with_numpys_names(function: _Function) -> _Function:
    """The function, whose arguments may be given by NumPy's names, too: bind/types/overridable.cpp looks for it."""
    function.__dict__["_takes_numpys_names"] = True
    return function
