"""A float64 shadow beside each storage, and what each operation adds to the difference between the two."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import _core
from ..._device import strided
from ..program.frames import user_frames
from .calls import Call, Replayed, Where

_DTYPES = _core.dtypes
_WIDE = dict.fromkeys(("float16", "bfloat16", "float32", "float64"), _DTYPES["float64"])
_WIDE |= dict.fromkeys(("complex64", "complex128"), _DTYPES["complex128"])
UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "complex64": 2.0**-24}
"""The largest rounding of one number, relative to it."""
_RESIDUE = 1e6  # a result with such an error is zero in truth, and all of it is rounding
_SAFE = 1e-250
_TO_PYTHON = ("numpy", "buffer", "tolist", "dlpack")


@dataclass(slots=True, eq=False)
class Origin:
    """The operation that wrote a storage last, where, and what made its inputs."""

    op: str
    inputs: tuple[Origin | float | None, ...]
    where: Where
    unit: float = 2.0**-53
    """The coarsest rounding on the way here."""
    outside: float = 0.0
    """The largest error that came to the line from other lines."""

    @property
    def base(self) -> str:
        """``sum`` for ``sum.dim``, ``add`` for ``add_``, ``rsub`` for ``_rsub``."""
        return self.op.partition(".")[0].strip("_")


@dataclass(frozen=True, slots=True)
class Result:
    """What one operation did to one tensor. Errors are norms of differences, relative to the norm in float64."""

    origin: Origin
    dtype: str
    shape: tuple[int, ...]
    size: float
    """The norm in float64."""
    error: float
    """Of the result against its shadow."""
    made: float
    """The operation's own part: its result against float64 on the same inputs."""
    inherited: float
    """The rest: what float64 makes of the errors of the inputs."""
    largest_input: float
    """The largest error of an input."""
    not_finite: tuple[complex, complex] | None
    """(Value, what it is in float64) of an element that is not finite although all inputs are."""

    @property
    def is_residue(self) -> bool:
        """Whether the true value is zero. Then all of it is rounding, and a relative error means nothing."""
        return self.error > _RESIDUE


@dataclass(frozen=True, slots=True)
class Flip:
    """Elements of an integer or boolean result that float64 would give otherwise."""

    op: str
    where: Where
    count: int
    total: int


@dataclass(slots=True)
class _Wide:
    """A call in float64: on the original's inputs (`here`), and on the shadows (`there`); each also what it wrote."""

    here: list[Any]
    there: list[Any]
    errors: list[float | None]
    is_finite: bool


class _Storage:
    """A storage that was seen; its shadow has the same elements in float64."""

    __slots__ = ("dtype", "given", "memory", "origin", "wide")

    def __init__(self, tensor: Any) -> None:
        self.memory = _core.whole_memory(tensor)  # keeps it, so that its place is not used again
        self.dtype = tensor.dtype
        self.origin: Origin | None = None
        self.wide: Any = None
        self.given: Any = None
        self.forget()

    def give(self) -> None:
        """Somebody outside may write to it from now on."""
        self.given = self.memory.clone()

    def follow(self) -> None:
        """Where somebody outside has written to it, it is taken as exact again."""
        if self.given is not None and not bool((self.given == self.memory).all()):
            self.give()
            self.forget()

    def forget(self) -> None:
        """The shadow becomes what the original is."""
        size = self.memory.numel() // self.dtype.itemsize
        self.wide = _widened(_core.tensor_on(self.memory, ((size,), (1,), 0, self.dtype), False))

    def view(self, tensor: Any) -> Any:
        """What a tensor on this storage looks at, in the shadow; None if it reads the bytes as another dtype."""
        if _bytes_of_real(tensor.dtype) != _bytes_of_real(self.dtype):
            return None
        shape, strides, offset, _ = _core.geometry_of(tensor)[0]
        return _core.tensor_on(self.wide, (shape, strides, offset, _WIDE[_name(tensor)]), False)


class Shadows:
    """Shows the results of each operation to ``tell``, and keeps the shadows up to date."""

    def __init__(self, tell: Callable[[Result], None]) -> None:
        self._tell = tell
        self._storages: dict[int, _Storage] = {}
        self.operations = 0
        self.flips: list[Flip] = []
        self.opaque: dict[tuple[str, Where], str] = {}
        """What has no shadow of its own, and why: from there on the original's values are taken as exact."""
        self.dtypes: set[str] = set()
        """Those with less than float64 that were seen."""

    def look(self, call: Call, where: Where) -> None:
        """Run a call, and its shadow."""
        if call.form in ("read", "rebind", "function"):
            if call.form == "read":
                with _outside_autograd():
                    self._read(call, where)
            return call.run()
        self.operations += 1
        inputs = call.inputs
        writes = [any(one is other for other in call.written) for one in inputs]
        with _outside_autograd():
            wide = self._run_wide(call, where, inputs, writes)
        call.run()
        with _outside_autograd():
            self._settle(call, where, inputs, writes, wide)
        return None

    def error_of(self, tensor: Any) -> float:
        """How far a tensor is from its shadow, relative to its norm."""
        with _outside_autograd():
            shadow = self._shadow(tensor)
            return 0.0 if shadow is None else relative(_array(_widened(tensor)), _array(shadow))[0]

    # ------------------------------------------------------------------------------------------------- one call
    def _run_wide(self, call: Call, where: Where, inputs: Any, writes: list[bool]) -> _Wide | None:
        """The call in float64, before it runs; None if its results are taken as they are."""
        shadows = [self._shadow(one) for one in inputs]
        has_values = any(one is not None for one in shadows) or call.name == "_cast"
        is_taken = call.name == "alias" or "empty" in call.name  # a view that a program notes; memory without values
        if call.draws or is_taken or not has_values or not all(one is None or _is_dense(one) for one in inputs):
            return None
        here = [_widened(one, copies) for one, copies in zip(inputs, writes, strict=True)]
        there = [
            _widened(one, copies) if shadow is None else shadow
            for one, copies, shadow in zip(inputs, writes, shadows, strict=True)
        ]
        values = [(_array(mine), _array(other)) for mine, other in zip(here, shadows, strict=True) if other is not None]
        found = iter([relative(*pair)[0] for pair in values])
        errors = [None if one is None else next(found) for one in shadows]
        is_finite = all(bool(np.isfinite(mine).all()) for mine, _ in values)
        try:
            results = [call.repeat_wide(one) for one in (here, there)]
        except Exception as error:
            self.opaque.setdefault((call.name, where), f"it can't be run in float64: {error}".splitlines()[0])
            return None
        here, there = (
            [one for one, is_written in zip(given, writes, strict=True) if is_written] for given in (here, there)
        )
        return _Wide(here + results[0], there + results[1], errors, is_finite)

    def _settle(self, call: Call, where: Where, inputs: Any, writes: list[bool], wide: _Wide | None) -> None:
        """After the call: the shadows of what it made and wrote, and their errors."""
        origin = Origin(call.name, tuple(map(self._origin, inputs)), where)
        written = [one for one, is_written in zip(inputs, writes, strict=True) if is_written]
        for number, made in enumerate([*written, *call.outputs]):
            if made is None or not _is_dense(made):
                continue
            is_new = number >= len(written)
            place = _core.memory_place(made)
            if is_new and place in self._storages:
                continue  # a view
            far = wide.there[number] if wide else None
            if far is not None and (far.shape != made.shape or _is_real(far) != _is_real(made)):
                self.flips.append(Flip(call.name, where, made.numel(), made.numel()))
                far = None
            if not _is_real(made):
                if place in self._storages:
                    self._storages[place].forget()  # written as another dtype
                elif far is not None and (count := int((_array(made) != _array(far)).sum())):
                    self.flips.append(Flip(call.name, where, count, made.numel()))
                continue
            storage = self._storages.get(place) or self._see(made)
            storage.origin = _completed(origin, _name(made), wide)
            if storage.given is not None:
                storage.give()
            shadow = storage.view(made)
            if wide is None or far is None or shadow is None:
                if not is_new:
                    storage.forget()
                continue
            if is_new:
                shadow.copy_(far)
            self._tell(_result(storage.origin, made, wide.here[number], shadow, wide))

    def _read(self, call: Call, where: Where) -> None:
        """A value goes to Python, which may decide by it."""
        tensor = next((one for one in call.inputs if one is not None), None)
        shadow = self._shadow(tensor)
        if tensor is None or shadow is None:
            return
        if call.name in ("bool", "int", "index") and tensor.numel() == 1:
            ask = bool if call.name == "bool" else math.trunc
            values = [_array(one).reshape(-1)[0] for one in (_widened(tensor), shadow)]
            if np.isfinite(values).all() and ask(values[0]) != ask(values[1]):
                self.flips.append(Flip(call.name, where, 1, 1))
        elif call.name in _TO_PYTHON:
            self._storages[_core.memory_place(tensor)].give()
            frames = [] if isinstance(call, Replayed) else user_frames(sys._getframe(1))
            function = frames[0].f_code.co_qualname if frames else where.place.function if where.place else "Python"
            self.opaque.setdefault((function, where), "values went to Python; what it makes of them is taken as exact")

    # ------------------------------------------------------------------------------------------------- storages
    def _shadow(self, tensor: Any) -> Any:
        """What float64 has in the place of a tensor; None for whole numbers, truths and Python's numbers."""
        if tensor is None or not _is_dense(tensor) or not _is_real(tensor) or _is_number(tensor):
            return None
        storage = self._storages.get(_core.memory_place(tensor)) or self._see(tensor)
        storage.follow()
        return storage.view(tensor)

    def _see(self, tensor: Any) -> _Storage:
        """A storage that was not seen before."""
        if (name := _name(tensor)) in UNITS:
            self.dtypes.add(name)
        storage = self._storages[_core.memory_place(tensor)] = _Storage(tensor)
        return storage

    def _origin(self, tensor: Any) -> Origin | float | None:
        if tensor is None or not _is_dense(tensor):
            return None
        if _is_number(tensor):
            return complex(tensor.item()).real
        storage = self._storages.get(_core.memory_place(tensor))
        return storage.origin if storage is not None else None


def relative(own: Any, there: Any) -> tuple[float, float]:
    """The norm of the difference, relative to the second's, and that norm; of elements that are finite in both."""
    error, size = norm_of(own - there), norm_of(there)
    if not math.isfinite(error + size):
        finite = np.isfinite(own) & np.isfinite(there)
        error, size = norm_of((own - there)[finite]), norm_of(there[finite])
    return error / size if size else math.inf if error else 0.0, size


def _result(origin: Origin, made: Any, here: Any, shadow: Any, wide: _Wide) -> Result:
    own, near, far = _array(_widened(made)), _array(here), _array(shadow)
    error, size = relative(own, far)
    return Result(
        origin=origin,
        dtype=_name(made),
        shape=tuple(made.shape),
        size=size,
        error=error,
        made=relative(own, near)[0],
        inherited=relative(near, far)[0],
        largest_input=max((error for error in wide.errors if error is not None), default=0.0),
        not_finite=_not_finite(own, far) if wide.is_finite else None,
    )


def _completed(origin: Origin, dtype: str, wide: _Wide | None) -> Origin:
    """With what it has from its inputs."""
    unit, outside = UNITS.get(dtype, origin.unit), 0.0
    for one, error in zip(origin.inputs, wide.errors if wide else [None] * len(origin.inputs), strict=True):
        if isinstance(one, Origin):
            unit = max(unit, one.unit)
        if error is not None:
            outside = max(outside, one.outside if isinstance(one, Origin) and one.where == origin.where else error)
    return replace(origin, unit=unit, outside=outside)


def _not_finite(own: Any, there: Any) -> tuple[complex, complex] | None:
    """The first element that float64 has as a number; else the first that is NaN in both."""
    own, there = own.reshape(-1), there.reshape(-1)
    for wrong in (~np.isfinite(own) & np.isfinite(there), np.isnan(own)):
        if wrong.any():
            first = int(wrong.argmax())
            return own[first].item(), there[first].item()
    return None


def norm_of(values: Any) -> float:
    """Euclidean; infinite or NaN where a value is."""
    flat = np.abs(values).reshape(-1)
    square = float(np.square(flat).sum())
    if _SAFE < square < 1 / _SAFE or not len(flat):
        return math.sqrt(square)
    largest = float(flat.max())  # squares overflow, underflow, or are zero
    return largest * norm_of(flat / largest) if 0 < largest < math.inf else largest


def _array(tensor: Any) -> Any:
    return tensor.detach().numpy()


def _widened(tensor: Any, copies: bool = False) -> Any:
    """In float64; whole numbers as they are."""
    if tensor is None or _is_number(tensor):
        return tensor
    if _is_real(tensor):
        return tensor.detach().to(_WIDE[_name(tensor)], copy=True)
    return tensor.detach().clone() if copies else tensor


def _is_real(tensor: Any) -> bool:
    return _name(tensor) in _WIDE


def _is_dense(tensor: Any) -> bool:
    return tensor.layout is strided and not tensor.is_meta


def _is_number(tensor: Any) -> bool:
    """Whether it stands for a number of Python's."""
    return tensor.dim() == 0 and bool(_core.geometry_of(tensor)[1])


def _name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _bytes_of_real(dtype: Any) -> int:
    return int(dtype.itemsize) // (2 if dtype.is_complex else 1)


@contextmanager
def _outside_autograd() -> Iterator[None]:
    """What happens inside is no part of the user's graph."""
    before = _core.is_grad_enabled()
    _core.set_grad_enabled(False)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _core.set_grad_enabled(before)
