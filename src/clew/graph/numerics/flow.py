"""Which tensors were computed from which, and where history was lost on the way: what a plain graph can't tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..model.places import Place
from .calls import Call, Where

ANOTHER_LEAF = "another leaf"
_FILLS = ("masked_fill", "where", "fill")  # whose infinities are the user's


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the history of a value was lost, and by what: ``detach``, ``no_grad``, ``cast to int64``, ``item``, ..."""

    cause: str
    place: Place | None
    used_at: Place | None


@dataclass(frozen=True, slots=True)
class Birth:
    """The first infinity of finite inputs, or the first NaN of inputs without one."""

    op: str
    where: Where
    value: float
    inputs: tuple[float, ...]
    """At the same element, of inputs that have it; Python's numbers, too."""


@dataclass(frozen=True, slots=True)
class _Input:
    """One input of an operation: its storage, why it has no history, and the tensor if it is a leaf that may be x."""

    storage: int
    cut: Cut | None
    leaf: Any


@dataclass(frozen=True, slots=True)
class _Made:
    """One operation that wrote a storage."""

    op: str
    place: Place | None
    inputs: list[_Input]


class Flow:
    """Notes of each operation which storages it reads and writes."""

    def __init__(self) -> None:
        self._made: dict[int, list[_Made]] = defaultdict(list)
        self._reads: dict[Cut, int] = {}  # of values into Python, and the storage that they are of
        self._alive: list[Any] = []  # so that no storage gets the place of another
        self.births: dict[str, Birth] = {}  # the first "inf", the first "nan"

    def look(self, call: Call, where: Where) -> None:
        """Run a call, and note it."""
        inputs = [one for one in call.inputs if one is not None and not one.is_meta]
        noted = [_noted(one, where) for one in inputs]
        if call.form == "read" and inputs:
            self._reads.setdefault(Cut(call.name, where.place, None), noted[0].storage)
        call.run()
        if call.form in ("read", "rebind"):
            return
        outputs = [one for one in (*call.written, *call.outputs) if one is not None and not one.is_meta]
        for made in outputs:
            self._made[_core.memory_place(made)].append(_Made(call.name, where.place, noted))
        self._alive += [one.detach() for one in (*inputs, *outputs)]
        if not where.in_backward:
            self._note_births(call.name, inputs, outputs, where)

    def cuts(self, x: Any, loss: Any) -> list[Cut]:
        """Where what was computed from ``x`` lost its history on the way to ``loss``."""
        derived, end = self._derived(x), _noted(loss, Where(None))
        inputs = [end, *(one for made in self._above(end.storage) for one in made.inputs)]
        found = [one.cut for one in inputs if one.cut and one.storage in derived and one.leaf is not x]
        return list(dict.fromkeys(found)) or self._read_cuts(derived)

    def cuts_beside(self, x: Any, loss: Any, tracked: set[tuple[str, str]]) -> list[Cut]:
        """The same, of a kept graph, whose steps do not say what had a history: ``tracked`` has what has a node."""
        derived, source = self._derived(x), _core.memory_place(x)
        found: dict[Cut, None] = {}
        for made in self._above(_core.memory_place(loss)):
            if (made.op, str(made.place)) not in tracked:
                continue
            for storage in {one.storage for one in made.inputs} & derived:
                makers = self._made.get(storage, [])
                if storage == source:
                    found[Cut("a use without history", made.place, made.place)] = None
                elif not any((one.op, str(one.place)) in tracked for one in makers):
                    found[Cut(f"{makers[-1].op} without history", makers[-1].place, made.place)] = None
        return list(found) or self._read_cuts(derived)

    def _note_births(self, op: str, inputs: list[Any], outputs: list[Any], where: Where) -> None:
        floats = [one.detach() for one in inputs if one.dtype.is_floating_point]
        made = [one.detach() for one in outputs if one.dtype.is_floating_point]
        for kind, asks in (("inf", _core.Tensor.isinf), ("nan", _core.Tensor.isnan)):
            if kind in self.births or not floats or op.rstrip("_") in _FILLS:
                continue
            wrong = next((one for one in made if bool(asks(one).any())), None)
            if wrong is None or any(bool((asks(one) | one.isnan()).any()) for one in floats):
                continue
            number = first(asks(wrong))
            at = (element(one, number) for one in floats if one.shape == wrong.shape or one.dim() == 0)
            self.births[kind] = Birth(op, where, element(wrong, number), tuple(at))

    def _read_cuts(self, derived: set[int]) -> list[Cut]:
        """Values that went to Python, where they can't be followed: the first read of each line."""
        found = {cut.place: cut for cut, storage in reversed(self._reads.items()) if storage in derived}
        return list(found.values())[::-1]

    def _derived(self, x: Any) -> set[int]:
        """The storages that hold what was computed from it."""
        children: Mapping[int, list[int]] = defaultdict(list)
        for storage, makers in self._made.items():
            for one in {one.storage for made in makers for one in made.inputs}:
                children[one].append(storage)
        return _reached(_core.memory_place(x), children)

    def _above(self, storage: int) -> Iterator[_Made]:
        """All that a storage was computed by."""
        parents = {
            one: [given.storage for made in makers for given in made.inputs] for one, makers in self._made.items()
        }
        for one in _reached(storage, parents):
            yield from self._made.get(one, ())


def _reached(start: int, edges: Mapping[int, Sequence[int]]) -> set[int]:
    seen, todo = {start}, [start]
    while todo:
        new = [one for one in edges.get(todo.pop(), ()) if one not in seen]
        todo += new
        seen.update(new)
    return seen


def _noted(tensor: Any, where: Where) -> _Input:
    """A tensor that is read; a leaf was made one of what it was computed from, unless it is the one asked about."""
    lost, is_leaf = tensor._lost, tensor.requires_grad and tensor.is_leaf
    cut = None
    if is_leaf:
        cut = Cut(ANOTHER_LEAF, Place.of(lost.site) if lost is not None else where.place, where.place)
    elif lost is not None and not tensor.requires_grad:
        cut = Cut(lost.cause, Place.of(lost.site), where.place)
    return _Input(_core.memory_place(tensor), cut, tensor if is_leaf else None)


def first(truths: Any) -> int:
    """The number of the first element that is true; 0 if none is."""
    return int(truths.flatten().to(_core.dtypes["uint8"]).argmax())


def element(tensor: Any, number: int) -> float:
    """That element, or the only one."""
    return float(tensor.flatten()[number if tensor.dim() else 0])
