"""What arguments tests may call a function with that is written in Python; native operations say so in their struct.

And NumPy's names of arguments, which PyTorch's functions take where they are written in C++.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

_NUMPYS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


def domain(text: str) -> Callable[[_Function], _Function]:
    """Note the domain of a public function beside its definition, in the notation of tests/sampling.py.

    Generated tests call the function with samples of it, and fail for one that says nothing. It costs nothing per call,
    but where `dim` or `keepdim` may be given by NumPy's names.
    """

    def note(function: _Function) -> _Function:
        function.__dict__["domain"] = text
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        native = function.__module__.startswith(("clew.ops.", "clew.linalg.", "clew.fft."))
        return with_numpys_names(function) if native and ("dim" in names or "keepdim" in names) else function

    return note


def with_numpys_names(function: _Function) -> _Function:
    """The function, whose arguments may be given by NumPy's names, too."""
    code = function.__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    others = {numpys: name for numpys, name in _NUMPYS.items() if numpys not in own and name in own}

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        if given and not given.keys().isdisjoint(others):
            given = {others.get(name, name): value for name, value in given.items()}
        return function(*args, **given)

    return cast(_Function, call)
