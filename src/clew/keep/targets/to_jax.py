"""A program as a pure function for JAX.

Without jax_enable_x64, which is JAX's default, its integers and floats have 32 bits. float64 is refused then; int64 is
computed in 32 bits where the program, its constants and its arguments let it (narrow.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy

from .arrays import run
from .errors import missing_package
from .functions import FUNCTIONS
from .kernels import Kernel, Origin
from .lower import Lowered, Named, lower
from .narrow import narrow

if TYPE_CHECKING:
    from ..program import Program

Arrays = dict[str, Any]
X64 = "jax.config.update('jax_enable_x64', True)"


def to_jax(program: Program) -> Callable[[Mapping[str, Any]], Arrays]:
    try:
        import jax
    except ImportError:
        raise missing_package("to_jax", "jax") from None
    lowered = lower(program, "to_jax")
    inputs = {one.name: one for one in lowered.named if one.is_input}
    bits = narrow(lowered)
    told: list[Origin] = []

    in_doubles = any(memory.dtype == "float64" for memory in lowered.memories())

    def warn_of_overflow(stacklevel: int) -> None:
        if bits.overflow is not None and not told and not jax.config.read("jax_enable_x64"):
            told.append(bits.overflow)
            warnings.warn(
                f"to_jax: without jax_enable_x64, int64 has 32 bits; {bits.overflow.fails('may need more')}. To do: "
                f"{X64}, or use int32 tensors where the values fit",
                stacklevel=stacklevel,
            )

    def function(arguments: Mapping[str, Any]) -> Arrays:
        wide = jax.config.read("jax_enable_x64")
        if in_doubles and not wide:
            raise _NeedsWide(f"to_jax: the program computes in float64; {X64}")
        warn_of_overflow(3)
        target = _Jax()
        begin = {}
        for name, value in arguments.items():
            if name not in inputs:
                raise ValueError(f"to_jax: {name!r} is no named input; these are {sorted(inputs)}")
            one = inputs[name]
            if tuple(target.jnp.shape(value)) != one.shape:
                raise ValueError(f"to_jax: expected {name!r} of shape {one.shape}, got {target.jnp.shape(value)}")
            if not wide and one.memory.dtype == "int64" and not isinstance(value, jax.Array):
                _check_range(one, value, bits.limit)
            begin[one.memory] = target.cast(target.jnp.asarray(value), one.memory.dtype).reshape(-1)
        try:
            state = run(lowered, target, begin)
        except TypeError as why:  # of JAX: a dtype that a function does not take
            raise NotImplementedError(f"to_jax: can't express {target.origin.fails(f'({why})')}") from None
        return _results(lowered, state)

    warn_of_overflow(4)
    kinds = {name: jax.dtypes.canonicalize_dtype(one.memory.dtype) for name, one in inputs.items()}
    with suppress(_NeedsWide):  # It may be switched on before the first call. What can't be expressed is said now.
        jax.eval_shape(function, {name: jax.ShapeDtypeStruct(inputs[name].shape, kind) for name, kind in kinds.items()})
    function.__name__ = "program"
    function.__doc__ = f"A program kept by clew, from a dict of {sorted(inputs)}."
    return function


class _NeedsWide(RuntimeError):
    """Of 64 bits, which JAX has not by default."""


def _check_range(one: Named, value: Any, limit: int) -> None:
    given = numpy.asarray(value)
    if given.size and (given.min() < -limit - 1 or given.max() > limit):
        raise _NeedsWide(
            f"to_jax: expected {one.name!r} within [{-limit - 1}, {limit}], as int64 has 32 bits without "
            f"jax_enable_x64; got {given.min()} to {given.max()}. To do: {X64}"
        )


def _results(lowered: Lowered, state: dict[Any, Any]) -> Arrays:
    return {one.name: state[one.memory].reshape(one.shape) for one in lowered.named if one.is_result}


class _Jax:
    """Of arrays.Target."""

    def __init__(self) -> None:
        import jax

        self.jax = jax
        self.jnp = jax.numpy
        self.origin = Origin("", "", "forward")

    def begin(self, kernel: Kernel) -> None:
        self.origin = kernel.origin

    def constant(self, values: numpy.ndarray[Any, Any]) -> Any:
        narrowed = values.astype(self._kind(str(values.dtype)))
        if narrowed.dtype != values.dtype and not numpy.array_equal(narrowed, values):
            extreme = max(values.min(), values.max(), key=abs)
            raise _NeedsWide(f"to_jax: {self.origin.fails(f'needs 64 bits for {extreme}')}. To do: {X64}")
        return self.jnp.asarray(narrowed)

    def function(self, name: str, args: tuple[Any, ...], dtype: str) -> Any:
        path = FUNCTIONS[name].jax.split(".")
        found: Any = self.jnp
        if len(path) > 1:
            found = self.jax
            path = path[1:] if path[0] == "jax" else path
        for part in path:
            found = getattr(found, part)
        if found is self.jax.lax.div or found is self.jax.lax.rem:
            args = tuple(self.jnp.broadcast_arrays(*args))
        return found(*args)

    def cast(self, x: Any, dtype: str) -> Any:
        return x.astype(self._kind(dtype))

    def _kind(self, dtype: str) -> Any:
        kind = self.jax.dtypes.canonicalize_dtype(dtype)
        if dtype == "float64" and kind != dtype:
            raise _NeedsWide(f"to_jax: {self.origin.fails('computes in float64')}. To do: {X64}")
        return kind

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        return self.jnp.reshape(x, shape)

    def transpose(self, x: Any, order: tuple[int, ...]) -> Any:
        return self.jnp.transpose(x, order)

    def slice(self, x: Any, parts: list[tuple[int, int, int]]) -> Any:
        return x[tuple(slice(*part) for part in parts)]

    def expand(self, x: Any, shape: tuple[int, ...]) -> Any:
        return self.jnp.broadcast_to(x, shape)

    def reduce(self, x: Any, combine: str, axes: tuple[int, ...], dtype: str) -> Any:
        if combine in ("max", "min") and dtype == "bool":
            combine = "any" if combine == "max" else "all"
        return getattr(self.jnp, combine)(x, axis=axes, keepdims=True).astype(x.dtype)

    def einsum(self, equation: str, x: Any, y: Any) -> Any:
        return self.jnp.einsum(equation, x, y, precision="highest")

    def take(self, flat: Any, addresses: Any) -> Any:
        return flat.at[addresses].get(mode="fill")

    def put(self, flat: Any, addresses: Any, values: Any, adds: bool) -> Any:
        place = flat.at[addresses]
        return place.add(values, mode="drop") if adds else place.set(values, mode="drop")
