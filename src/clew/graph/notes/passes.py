"""What is noted of the graphs of some backward passes, before they run: leaves, losses, and what is missing in them."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ... import _core
from ..model.places import Place
from ..model.walk import nearest
from ..program.containers import is_parameter
from ..program.frames import variables
from ..program.names import names_of
from .finding import Finding, listed
from .relus import Relus

_MOST_NODES = 5_000
_NEAR_THE_LOSS = 30
_FEWEST_PASSES = 3
_MOST_SEARCHES = 3
_MOST_OPTIMIZERS = 3  # that are named


class _Reached:
    """A parameter that sampled backward passes went to."""

    def __init__(self, parameter: Any, place: Place) -> None:
        self.parameter = weakref.ref(parameter)
        self.place = place
        self.passes = 0  # that have left a gradient in it
        self.name: str | None = None
        self.has_moved = False
        self._first = _value(parameter)

    def note(self, parameter: Any) -> None:
        self.has_moved |= _value(parameter) != self._first

    def note_gradient(self) -> None:
        """The backward has ended; ``autograd.grad`` leaves nothing behind."""
        parameter = self.parameter()
        self.passes += parameter is not None and parameter.grad is not None


class Passes:
    """The sampled backward passes."""

    def __init__(self) -> None:
        self.relus = Relus()
        self._reached: dict[int, _Reached] = {}
        self._running: list[_Reached] = []  # those that the backward which runs goes to
        self._leaf_losses: dict[Place, int] = {}
        self._without_create_graph: dict[Place, str] = {}
        self._searches = 0

    def note(self, roots: Sequence[Any], frames: list[Any], optimized: set[int]) -> None:
        """A backward is about to run. ``optimized`` has the ``id`` of each parameter that an optimizer updates."""
        place = Place.of_frame(frames[0])
        if roots and all(isinstance(root, _core.AccumulateGrad) for root in roots):
            self._leaf_losses[place] = self._leaf_losses.get(place, 0) + 1
            return
        nodes = list(nearest(list(roots), _MOST_NODES))
        for node in nodes[:_NEAR_THE_LOSS]:
            self._note_missing_history(node, frames)
        self._running = [self._reach(parameter, place) for parameter in _parameters_of(nodes)]
        for node in nodes:
            if not isinstance(node, _core.AccumulateGrad) and node.op == "relu":
                self.relus.note(node)
        if optimized:
            self._name(frames, optimized)

    def note_end(self) -> None:
        """A backward has ended."""
        for one in self._running:
            one.note_gradient()
        self._running = []

    def _reach(self, parameter: Any, place: Place) -> _Reached:
        known = self._reached.get(id(parameter))
        if known is None or known.parameter() is not parameter:
            known = self._reached[id(parameter)] = _Reached(parameter, place)
        known.note(parameter)
        return known

    def _name(self, frames: list[Any], optimized: set[int]) -> None:
        unnamed = [one for one in self._reached.values() if one.name is None]
        if any(id(one.parameter()) not in optimized for one in unnamed) and self._searches < _MOST_SEARCHES:
            self._searches += 1
            found = names_of([one.parameter() for one in unnamed], frames)
            for one in unnamed:
                one.name = found.tensors.get(id(one.parameter()))

    def _note_missing_history(self, node: Any, frames: list[Any]) -> None:
        """A term without a graph that was computed from a gradient, as a penalty is: the loss's line names it."""
        place = Place.of(node.made_at)
        if place is None or all(below is not None for below, _ in node.next_functions):
            return
        frame = next((one for one in frames if one.f_code.co_filename == place.file), None)
        if frame is None:
            return
        known = variables(frame) if frame.f_code.co_name != "<module>" else frame.f_globals
        for name in _names_in(place.source):
            value: Any = known.get(name)
            is_constant_term = isinstance(value, _core.Tensor) and value.dim() == 0 and not value.requires_grad
            lost = value._lost if is_constant_term else None
            if lost is not None and lost.cause.endswith("without create_graph"):
                self._without_create_graph.setdefault(place, name)

    def findings(self, optimized: set[int], optimizers: Sequence[tuple[str, Place | None]]) -> Iterator[Finding]:
        """What these passes have in common. ``optimizers`` are those that have stepped: class and place."""
        for place, count in self._leaf_losses.items():
            if optimizers or count >= _FEWEST_PASSES:
                yield Finding(
                    "leaf loss",
                    place,
                    "backward starts from a leaf: the loss has no history, and no parameter gets a gradient",
                    "compute the loss with tensors from the model's output; item(), tensor() and detach() drop history",
                )
        for place, name in self._without_create_graph.items():
            yield Finding(
                "create_graph",
                place,
                f"`{name}` was computed from a gradient that has no graph, so it is a constant in the loss",
                "pass create_graph=True to the autograd.grad or backward that made this gradient",
            )
        if optimizers:
            made = tuple((f"{kind} made here", place) for kind, place in optimizers if place is not None)
            yield from self._in_no_optimizer(optimized, made[:_MOST_OPTIMIZERS])
        yield from self.relus.findings()

    def _in_no_optimizer(self, optimized: set[int], made: tuple[tuple[str, Place], ...]) -> Iterator[Finding]:
        found: dict[Place, list[str]] = {}
        for key, one in self._reached.items():
            if key not in optimized and one.passes >= _FEWEST_PASSES and one.name and not one.has_moved:
                found.setdefault(one.place, []).append(one.name)
        where = f" (at {made[0][1].short})" if len(made) == 1 else ""
        for place, names in found.items():
            yield Finding(
                "no optimizer",
                place,
                f"{listed(names)} get gradients and never change: they are in no optimizer that steps",
                f"give them to an optimizer{where}, or, if they are to stay as they are, set requires_grad_(False) and "
                "save the time",
                made,
            )


def _parameters_of(nodes: Sequence[Any]) -> list[Any]:
    leaves = (below for node in nodes for below, _ in node.next_functions if isinstance(below, _core.AccumulateGrad))
    found = {id(leaf.variable): leaf.variable for leaf in leaves}
    return [variable for variable in found.values() if is_parameter(variable)]


def _value(parameter: Any) -> tuple[int, float]:
    return parameter._version, float(parameter.detach().sum())


def _names_in(source: str) -> Iterable[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
