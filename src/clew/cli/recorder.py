"""What is noted while a script runs under ``clew xray``: each backward, its graph, the time since the last one."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from .. import _core, memory
from ..graph.explanations.copied import explain_copy
from ..graph.explanations.describe import StorageKey
from ..graph.explanations.explain import explain_nodes
from ..graph.explanations.explanation import Explanation
from ..graph.memory.timeline import Timeline
from ..graph.model import events
from ..graph.model.places import Place
from ..graph.model.protocol import Node
from ..graph.model.records import Release
from ..graph.model.walk import walk
from ..graph.pictures.copied import draw_copy
from ..graph.pictures.data_inputs import names_by_storage
from ..graph.pictures.draw import draw
from ..graph.pictures.picture import Picture
from ..graph.program.frames import user_frames
from ..graph.program.modules import ModuleLog, record_modules
from ..graph.program.names import Names, find_tensors, names_of
from .place import At

_MOST_NAME_SEARCHES = 5
_MOST_PICTURES = 5  # of one line, beside the last
_MOST_POINTS = 2000  # of a curve


@dataclass(frozen=True, slots=True)
class Step:
    """Where the time went between two backward passes of one line, in nanoseconds."""

    wall: int
    recording: int
    forward_kernels: int
    backward: int
    operations: int

    @property
    def elsewhere(self) -> int:
        return max(0, self.wall - self.recording - self.forward_kernels - self.backward)


@dataclass(frozen=True, slots=True)
class Replays:
    """What one line replayed: calls of a compiled function, or runs of a kept program."""

    name: str
    at: str
    calls: int
    nanoseconds: int
    steps: int
    lines: tuple[tuple[str, int], ...]
    """The lines that the steps were recorded from, and how many steps each has."""


@dataclass(slots=True)
class GrowthCurve:
    """What was alive after each backward: nodes, and bytes of tensors. Of many every second one is forgotten."""

    nodes: list[int] = field(default_factory=list)
    nbytes: list[int] = field(default_factory=list)
    apart: int = 1  # backward passes from one element to the next
    count: int = 0

    def note(self, nodes: int, nbytes: int) -> None:
        """One backward has ended."""
        if self.count % self.apart == 0:
            self.nodes.append(nodes)
            self.nbytes.append(nbytes)
        self.count += 1
        if len(self.nodes) > _MOST_POINTS:
            self.nodes, self.nbytes, self.apart = self.nodes[::2], self.nbytes[::2], 2 * self.apart


@dataclass(slots=True)
class Backward:
    """All that is known of the backward passes that one line called; the graph is that of the last."""

    place: Place
    count: int = 0
    explanation: Explanation | None = None
    pictures: dict[int, Picture] = field(default_factory=dict)  # by the number of the backward, the last one included
    timeline: Timeline | None = None  # of one of the last steps
    since_start: Step | None = None  # until the first of them
    steps: list[Step] = field(default_factory=list)  # the latest of the others
    same: int = 0  # of them all, those that did what most did
    kept: int = 0  # nanoseconds of such a step as a replay; 0: it was not measured


class Recorder:
    """Listens to the engine from ``start()`` to ``stop()``; ``describe()`` fills in ``backward_passes`` and ``last``.

    Its own work is not counted into the script's steps. With ``at`` only the graphs of backward
    passes called from there are described. With ``draws``, graphs are drawn and the memory of each step is written
    down.

    Which backward is the last one cannot be known, so each is noted, in the core: as numbers, without Python.
    """

    def __init__(self, limit: int, at: At | None = None, *, draws: bool = False) -> None:
        self.at = at
        self.backward_passes: dict[tuple[str, int], Backward] = {}
        self.last: Backward | None = None
        self.replays: tuple[Replays, ...] = ()
        self._limit = limit
        self._log = _core.BackwardLog(self._asked, limit, None if at is None else at.exact, draws)
        self._explanations: dict[int, Explanation] = {}  # of graphs that could not be copied, by the line's number
        self._names = Names({}, {})  # of leaves, by the numbers that the log has for them
        self._name_searches = 0
        self._draws = draws
        self._drawn: Picture | None = None  # of the backward that runs
        self._pictures: dict[int, dict[int, Picture]] = {}  # by the line's number and the backward's
        self._timelines: dict[int, Timeline | None] = {}
        self._modules: AbstractContextManager[ModuleLog] | None = None
        self._module_log: ModuleLog | None = None
        self._step: Timeline | None = None
        self._data_names: Mapping[StorageKey, str] = {}
        self.growth = GrowthCurve()
        self.running: tuple[Node, ...] = ()  # the roots of the backward that runs, or that failed

    def start(self) -> None:
        _core.timing(True)
        if self._draws:
            events.listen_before(self._before_backward)
            self._modules = record_modules()
            self._module_log = self._modules.__enter__()
            self._step = Timeline(self._module_log).__enter__()
        self._log.start()

    def stop(self) -> None:
        """Listen no more."""
        self._log.stop()
        if self._modules is not None:
            events.stop_listening_before(self._before_backward)
            self._modules.__exit__(None, None, None)
            self._end_step()
        _core.timing(False)
        self.replays = tuple(
            Replays(name, str(at), calls, spent, steps, tuple(_counted(lines)))
            for name, at, calls, spent, steps, lines in _core.replay_events()
        )

    def describe(self, scopes: Iterable[Mapping[str, object]]) -> None:
        """Fill in ``backward_passes`` and ``last``. ``scopes`` are the variables that are there in the end."""
        if self._draws:
            self._data_names = names_by_storage(dict(find_tensors(scopes)))
        for number, line in enumerate(self._log.lines()):
            backward = self._backward(number, line)
            self.backward_passes[backward.place.file, backward.place.line] = backward
            if number == self._log.last():
                self.last = backward

    def passes_through(self) -> Mapping[Place | None, int]:
        """How many backward passes went through what a line made, as far as their graphs are described."""
        passes: Counter[Place | None] = Counter()
        for one in self.backward_passes.values():
            if one.explanation is not None:
                made = [node.made_at for node in one.explanation.nodes]
                made += [group.made_at for group in one.explanation.groups]
                passes.update(dict.fromkeys(made, one.count))
        return passes

    def _backward(self, number: int, line: dict[str, Any]) -> Backward:
        graph = line["graph"]
        return Backward(
            Place(line["file"], line["line"], line["function"]),
            line["count"],
            self._explanations.get(number) if graph is None else explain_copy(graph, self._names),
            self._pictures_of(number, line),
            self._timelines.get(number),
            Step(*line["since_start"]),
            [Step(*step) for step in line["steps"]],
            line["same"],
            line["kept"],
        )

    def _keep_picture(self, number: int, count: int, picture: Picture) -> None:
        kept = self._pictures.setdefault(number, {})
        kept[count] = picture
        if len(kept) > _MOST_PICTURES:
            del kept[sorted(kept)[1]]  # the first and the latest stay

    def _pictures_of(self, number: int, line: dict[str, Any]) -> dict[int, Picture]:
        """Those drawn while the script ran, and the last backward's, of which the log has a copy."""
        pictures = self._pictures.get(number, {})
        if line["whole"] is not None:
            label = f"after backward {line['count']:,} at {os.path.basename(line['file'])}:{line['line']}"
            last = draw_copy(line["whole"], self._names.tensors, self._data_names, label)
            if last is not None:
                pictures[line["count"]] = last
        return pictures

    def _end_step(self) -> Timeline | None:
        ended, self._step = self._step, None
        if ended is not None:
            ended.__exit__(None, None, None)
        return ended

    def _before_backward(self, roots: tuple[Node, ...]) -> None:
        frames = user_frames(sys._getframe(1))
        if frames and not _core.backward_serial() and threading.current_thread() is threading.main_thread():
            self.running = roots
            key = (frames[0].f_code.co_filename, frames[0].f_lineno)
            number = 1 + self._log.count(*key)
            # A graph is drawn before it is freed. Which backward is the last one cannot be known.
            if (self.at is None or self.at.matches(*key)) and (number & (number - 1)) == 0:
                names = self._leaf_names(roots, frames)
                self._drawn = draw(roots, params={name: leaf for leaf, name in names.values()})

    def _asked(self, number: int, roots: tuple[Node, ...], release: Release | None, is_whole: bool) -> None:
        """The log asks: for names of leaves, and for what it cannot do."""
        self.running = ()
        self.growth.note(_core.graph_counters()["nodes_alive"], memory.stats().live)
        frames = user_frames(sys._getframe(1))
        key = (frames[0].f_code.co_filename, frames[0].f_lineno)
        if self.at is None or self.at.matches(*key):
            names = self._leaf_names(roots, frames)
            if not is_whole:
                subject = f"graph of {', '.join(type(root).__name__ for root in roots)}"
                given = {leaf: name for leaf, (_, name) in names.items()}
                self._explanations[number] = explain_nodes(roots, subject, limit=self._limit, names=given)
        if self._draws and threading.current_thread() is threading.main_thread():
            self._note_step(number, Place(*key, ""), release)

    def _note_step(self, number: int, place: Place, release: Release | None) -> None:
        count = self._log.count(place.file, place.line)
        ended = self._end_step()
        # In a step whose graph was drawn, drawing took most of the time: an earlier one tells more.
        if count == 2 or (count > 2 and self._drawn is None) or self._timelines.get(number) is None:
            self._timelines[number] = ended
        if self._drawn is not None:
            kept = ", which kept the graph" if release is None else ""
            self._drawn.snapshot(f"after backward {count:,} at {place.short}{kept}")
            self._keep_picture(number, count, self._drawn)
            self._drawn = None
        self._step = Timeline(self._module_log).__enter__()  # from here on, as the report's own time is no part of it

    def _leaf_names(self, roots: tuple[Node, ...], frames: list[FrameType]) -> Mapping[int, tuple[Any, str]]:
        """The graph's leaves with their names, by ``id``; searched in the callers' variables a few times at most."""
        leaves = {id(leaf): leaf for leaf in map(_variable, walk(roots)) if leaf is not None}
        if self._name_searches < _MOST_NAME_SEARCHES and any(map(self._is_unnamed, leaves.values())):
            self._name_searches += 1
            if self._name_searches == _MOST_NAME_SEARCHES:
                self._log.ask_no_more_for_names()
            found = names_of(filter(self._is_unnamed, leaves.values()), frames)
            self._names.modules.update(found.modules)
            for key, path in found.tensors.items():
                number = len(self._names.tensors) + 1
                self._names.tensors[number] = path
                self._log.give_number(leaves[key], number)
        numbers = {key: self._log.number(leaf) for key, leaf in leaves.items()}
        return {key: (leaves[key], self._names.tensors[number]) for key, number in numbers.items() if number > 0}

    def _is_unnamed(self, leaf: Any) -> bool:
        return self._log.number(leaf) <= 0


def _counted(lines: list[tuple[Any, int]]) -> Iterable[tuple[str, int]]:
    """Each line once."""
    counts: Counter[str] = Counter()
    for line, count in lines:
        counts[str(line)] += count
    return counts.items()


def _variable(node: Any) -> Any:
    return node.variable if isinstance(node, _core.AccumulateGrad) else None
