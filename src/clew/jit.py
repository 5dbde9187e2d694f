"""`torch.jit` where nothing is compiled: functions and modules are what they were, said once in a warning.

Recording a graph costs so little here that there is nothing for a script compiler to save; what `torch.jit` adds
otherwise (files that run without their source) is missing, and says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ._unsupported import missing_from
from .futures import Future
from .nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Attribute",
    "Final",
    "ScriptModule",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])
_said: set[str] = set()
_isinstance = isinstance


def say_once(name: str, what: str) -> None:
    """Warn, at the line of whoever called our caller, the first time only."""
    if name not in _said:
        _said.add(name)
        warnings.warn(f"{name}: {what}", stacklevel=3)


_UNCHANGED = "clew has no TorchScript, the function or module is returned as it is and runs eagerly"


def script(obj: _T, *args: Any, **kwargs: Any) -> _T:
    """``obj`` itself: a function, a module, or a class.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     @clew.jit.script
        ...     def double(x):
        ...         return x * 2
        >>> double(clew.ones(2))
        tensor([2., 2.])
    """
    say_once("torch.jit.script", _UNCHANGED)
    return obj


def trace(func: _T | None = None, example_inputs: Any = None, *args: Any, **kwargs: Any) -> _T:
    """``func`` itself, which is run neither once nor twice: what depends on data stays so."""
    say_once("torch.jit.trace", _UNCHANGED)
    if func is None:
        raise TypeError("trace: expected a function or a module, got None")
    return func


def trace_module(mod: _T, inputs: Any, *args: Any, **kwargs: Any) -> _T:
    """The module itself."""
    say_once("torch.jit.trace_module", _UNCHANGED)
    return mod


def freeze(mod: _T, *args: Any, **kwargs: Any) -> _T:
    """The module itself, which must be in evaluation mode, as in PyTorch."""
    if getattr(mod, "training", False):
        raise RuntimeError("freeze: expected a module in evaluation mode, got one in training mode; call .eval() first")
    say_once("torch.jit.freeze", _UNCHANGED)
    return mod


def optimize_for_inference(mod: _T, *args: Any, **kwargs: Any) -> _T:
    """The module itself."""
    say_once("torch.jit.optimize_for_inference", _UNCHANGED)
    return mod


def unused(fn: _F) -> _F:
    """``fn`` itself: the decorator speaks to a compiler that there is not."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator that changes nothing, with or without arguments."""
    return drop if callable(drop) else unused


def export(fn: _F) -> _F:
    """``fn`` itself."""
    return fn


def script_method(fn: _F) -> _F:
    """``fn`` itself."""
    return fn


def script_if_tracing(fn: _F) -> _F:
    """``fn`` itself: nothing is ever traced."""
    return fn


def interface(obj: _T) -> _T:
    """The class itself."""
    return obj


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


def annotate(the_type: Any, the_value: _T) -> _T:
    """``the_value``."""
    return the_value


def Attribute(value: _T, type: Any) -> _T:
    """``value``: its type matters to a compiler only."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's ``isinstance``; of ``List[int]`` and the like the container alone is looked at."""
    kinds = target_type if _isinstance(target_type, tuple) else (target_type,)
    return any(_isinstance(obj, getattr(kind, "__origin__", kind)) for kind in kinds)


def fork(func: Callable[..., _T], *args: Any, **kwargs: Any) -> Future[_T]:
    """A future of ``func(*args, **kwargs)``, which is called at once: what it raises is raised here.

    Example:
        >>> future = clew.jit.fork(clew.add, clew.ones(2), 1)
        >>> clew.jit.wait(future)
        tensor([2., 2.])
    """
    future: Future[_T] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[_T]) -> _T:
    """The value of a future."""
    return future.wait()


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Accepted, to no effect."""
    return strategy


def enable_onednn_fusion(enabled: bool) -> None:
    """Accepted, to no effect."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


@contextmanager
def _nothing(*args: Any) -> Iterator[None]:
    """A context without effect: there is nothing to fuse or to optimize."""
    yield


optimized_execution = fuser = strict_fusion = _nothing


class TracerWarning(Warning):
    """What PyTorch warns of while it traces. clew does not trace."""


class ScriptModule(Module):
    """A class to derive from. Its instances are ordinary modules, whose methods run as Python."""


# So that `torch.jit.x` is imported; the finder of placeholders knows which there are.
__path__: list[str] = []
del annotations  # a module in PyTorch
__getattr__ = missing_from(__name__)
