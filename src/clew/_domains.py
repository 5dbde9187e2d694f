"""What arguments tests may call a function with that is written in Python; native operations say so in their struct."""

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
        return function

    return note
