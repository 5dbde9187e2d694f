"""Python in the middle of a program."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .. import _core
from .._core import Tensor
from ..amp.autocast_mode import in_state

_P = ParamSpec("_P")
_R = TypeVar("_R")


def pure(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Mark a function as pure, so that a kept program may call it as one of its steps.

    You promise that its result depends on the arguments only, and that it has no effects. It takes tensors (and
    constants) as arguments. It returns a tensor, a tuple or a list of tensors, without history. Outside of
    `clew.keep_graph()` the mark has no effect.

    Example:
        >>> import numpy
        >>> @clew.pure
        ... def sinc(x):
        ...     return clew.from_numpy(numpy.sinc(x.numpy()))
        >>> x = clew.zeros(2)
        >>> with clew.keep_graph():
        ...     y = sinc(x) * 2
        >>> y.forward()
        tensor([2., 2.])
    """

    @wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if not _core.is_interpreted():
            return function(*args, **kwargs)
        return _as_step(function, args, kwargs)  # type: ignore[no-any-return]

    return called


def _as_step(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    names = [name for name, arg in kwargs.items() if isinstance(arg, Tensor)]
    constants = [None if isinstance(arg, Tensor) else arg for arg in args]
    others = {name: arg for name, arg in kwargs.items() if name not in names}
    shape: list[Callable[[Any], Any] | None] = []
    cast = _core.autocast_state(None)

    def run(*tensors: Tensor) -> tuple[Any, ...]:
        given = list(constants)
        for place, tensor in zip(places, tensors, strict=False):
            given[place] = tensor
        named = dict(zip(names, tensors[len(places) :], strict=True))
        with in_state(cast):
            result = function(*given, **others, **named)
        single = isinstance(result, Tensor)
        shape[:] = [None if single else type(result)]
        results = (result,) if single else tuple(result)
        if not all(isinstance(one, Tensor) for one in results):
            kind = type(result).__name__
            raise TypeError(f"{function.__name__}: expected a pure function to give tensors, got {kind}")
        return results

    tensors = (*[args[place] for place in places], *[kwargs[name] for name in names])
    results = _core.python_step(function.__name__, tensors, run, (function, constants, others))
    several = shape[0]
    return results[0] if several is None else several(results)
