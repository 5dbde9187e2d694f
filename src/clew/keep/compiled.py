"""`clew.compile`: a function whose first call of a kind is recorded, and whose later ones are replayed."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .known_calls import KNOWN
from .spare_compiler import spare_compiler

_core.set_known_calls(KNOWN)
if os.environ.get("CLEW_COMPILE") == "0":
    _core.set_compile_disabled(True)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    fuse: bool = False,
    max_variants: int = 16,
    code: bool = True,
) -> Any:
    """A function whose first call is recorded, and whose later calls are replayed without Python.

    The function may contain a whole training step: forward, backward, an optimizer step. A call has the results of the
    function itself, to the bit, and the same effects on parameters, gradients, buffers and generators. Before a call is
    replayed, everything that its Python reads and that is older than the call is compared: globals, attributes, items,
    values of tensors. If something differs, the function runs and is recorded again. If something can't be compared,
    the function stays eager, and a `KeepWarning` names the cause and its line.

    Args:
        model: a function, or a module, whose `forward` is compiled. Without it, a decorator.
        fullgraph: raise `KeepError` where the function would stay eager.
        dynamic: True is refused, because each size is a variant of its own.
        backend: "eager" returns the function itself. PyTorch's other backends, and functions, make no difference.
        mode, options: accepted for PyTorch's sake, without effect. Options may have any names.
        disable: return the function itself.
        fuse: let generated code round a product and a sum at once, which is faster and differs from eager in the last
            digits.
        max_variants: how many kinds of call (shapes, strides, dtypes, numbers, ...) are kept; the least recently used
            one is dropped first.
        code: let the system's C compiler compile small elementwise calls, in the background, when a variant was
            replayed for some milliseconds. The environment variable `CLEW_CODE=0` turns this off in the whole process.

    Returns:
        A callable with the counts `hits`, `misses`, `variants` and `bytes`, with `why()`, `check()`, `cache_clear()`
        and, as `eager`, the function itself.

    Raises:
        NotImplementedError: `dynamic=True`.
        RuntimeError: PyTorch does not have the mode or backend, or a mode and options are both given.

    Example:
        >>> @clew.compile
        ... def scaled(x, factor):
        ...     return (x * factor).sum()
        >>> scaled(clew.ones(3), 2.0), scaled(clew.arange(3.0), 2.0)
        (tensor(6.), tensor(6.))
        >>> scaled.hits, scaled.misses
        (1, 1)
    """
    if dynamic:
        raise NotImplementedError("compile: dynamic=True is not supported; each size is a variant of its own")
    _check_choice(mode, options, backend)
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            backend=backend,
            disable=disable,
            fuse=fuse,
            max_variants=max_variants,
            code=code,
        )
    if disable or backend == "eager":
        return model
    if isinstance(model, Compiled):
        return model
    if not callable(model):
        raise TypeError(f"compile: expected a function or a module, got {type(model).__name__}")
    from ..nn import Module

    if isinstance(model, Module):
        from .compiled_module import OptimizedModule

        return OptimizedModule(model, Compiled(model, max_variants, fullgraph, code, fuse))
    return Compiled(model, max_variants, fullgraph, code, fuse)


_BACKENDS = ("inductor", "cudagraphs", "eager", "aot_eager", "aot_ts", "ts", "tvm", "openxla", "openxla_eval")
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def _check_choice(mode: str | None, options: dict[str, Any] | None, backend: Any) -> None:
    """What PyTorch refuses. Names of options are the backend's, hundreds of them."""
    if mode is not None and options is not None:
        raise RuntimeError("compile: expected mode or options, got both; leave one out: neither has an effect")
    if isinstance(backend, str) and backend not in _BACKENDS and not backend.startswith("aot_eager_"):
        raise RuntimeError(
            f"compile: expected a backend of {', '.join(_BACKENDS)}, got {backend!r}; none has an effect"
        )
    if backend == "inductor" and mode is not None and mode not in _MODES:
        raise RuntimeError(f"compile: expected a mode of {', '.join(_MODES)}, got {mode!r}; none has an effect")


class Compiled(_core.CompiledFunction):
    """What `clew.compile` gives for a function.

    Attributes:
        hits: calls that were replayed.
        misses: calls that ran as Python, recorded or not.
        variants: recorded calls that can be replayed.
        bytes: of memory that these keep: constants, results that are used again, tables of steps.
        eager: the function itself.
    """

    def __init__(
        self, function: Callable[..., Any], max_variants: int, strict: bool, code: bool = True, fuse: bool = False
    ) -> None:
        if max_variants < 1:
            raise ValueError(f"compile: expected max_variants of at least 1, got {max_variants}")
        super().__init__(function, max_variants, strict)
        if code:
            spare_compiler()
        self._coded, self._fused = code, fuse
        self._options = (max_variants, strict, code, fuse)
        for name in functools.WRAPPER_ASSIGNMENTS:
            with contextlib.suppress(AttributeError):
                setattr(self, name, getattr(function, name))
        self.__wrapped__ = function

    @property
    def code(self) -> list[str]:
        """How it stands with generated code: a line for each run of calls that code may take over.

        Example:
            >>> double = clew.compile(lambda x: x * 2)
            >>> _ = double(clew.ones(2)), double(clew.ones(2))
            >>> double.code
            []
        """
        return self._code()

    def why(self) -> str:
        """Hits, misses, each variant with its steps, arguments, guards and times, and why calls stay eager.

        What tells variants apart are the arguments ("any float" for one that is followed), or else what Python, or a
        tensor that it read, had for a value: "recorded as the call read another value ...".

        The time of a replay is the shortest of its first 16. That of a call as Python is a bound: what the recorded
        call took besides the watching of its instructions. A first call in cold caches may take many times what the
        next ones do, so recording pays off after the calls that are named, or more.

        Example:
            >>> double = clew.compile(lambda x: x * 2)
            >>> _ = double(clew.ones(2))
            >>> print(double.why().splitlines()[0])
            <lambda>: 0 hits, 1 miss, 1 variant
        """
        from .report import report

        name = getattr(self, "__qualname__", type(self.eager).__name__)
        return report(self, name.rpartition(".")[2])

    def check(self, calls: int = 1) -> None:
        """Compare the next calls that would be replayed with the function itself, step by step and bit by bit.

        Each of them is replayed without changing anything: step by step, and once by the memory plan that replays
        follow. Then the function runs from the same state, and what the call gives and leaves is the function's. A call
        whose loops were folded is recorded anew first, as each step is compared.

        Args:
            calls: how many calls are checked; 0 stops it.

        Raises:
            ReplayError: raised by a checked call. It names the first step whose bits differ, or that only one of both
                runs has, and its line. A `clew.pure` function that is not pure is a reason.

        Example:
            >>> double = clew.compile(lambda x: x * 2)
            >>> double.check(2)
            >>> _ = [double(clew.ones(2)) for _ in range(3)]  # the first is recorded
            >>> print(double.why().splitlines()[-1])
              checked: 2 calls, each step gave the bits of the function itself
        """
        if not isinstance(calls, int):
            raise TypeError(f"check: expected a number of calls, got a {type(calls).__name__}")
        if calls < 0:
            raise ValueError(f"check: expected a number of calls, got {calls}")
        self._to_check = calls

    def __reduce__(self) -> Any:
        module, name = getattr(self, "__module__", None), getattr(self, "__qualname__", None)
        found: Any = sys.modules.get(module) if isinstance(module, str) else None
        for part in str(name).split("."):
            found = getattr(found, part, None)
        # A decorated function of a module goes by its name, as functions do.
        return str(name) if found is self else (Compiled, (self.eager, *self._options))

    def __repr__(self) -> str:
        return f"<clew.compile of {self.eager!r}>"


@contextlib.contextmanager
def disabled() -> Iterator[None]:
    """Compiled functions run as they are, without a look at what was recorded.

    Example:
        >>> double = clew.compile(lambda x: x * 2)
        >>> with clew.compiler.disabled():
        ...     _ = double(clew.ones(2))
        >>> double.misses
        0
    """
    before = _core.set_compile_disabled(True)
    try:
        yield
    finally:
        _core.set_compile_disabled(before)
