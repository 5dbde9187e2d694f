"""What is noted while a script runs under ``clew xray``: each backward, its graph, the time since the last one."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from time import perf_counter_ns
from types import FrameType
from typing import Any

from .. import _core
from ..graph import events
from ..graph.draw import draw
from ..graph.explain import explain_nodes
from ..graph.explanation import Explanation, Place
from ..graph.frames import scopes_of, user_frames
from ..graph.modules import ModuleDiary, record_modules
from ..graph.names import find_tensors
from ..graph.picture import Picture
from ..graph.protocol import Node
from ..graph.records import Release
from ..graph.timeline import Timeline
from ..graph.walk import walk

_MOST_STEPS = 10_000  # of one line, for the shares of a step
_MOST_NAME_SEARCHES = 5


@dataclass(frozen=True, slots=True)
class Step:
    """Where the time went between two backwards of one line, in nanoseconds."""

    wall: int
    recording: int
    forward_kernels: int
    backward: int
    operations: int

    @property
    def elsewhere(self) -> int:
        return max(0, self.wall - self.recording - self.forward_kernels - self.backward)


@dataclass(slots=True)
class Backward:
    """All that is known of the backwards that one line called; the graph is that of the last."""

    place: Place
    count: int = 0
    explanation: Explanation | None = None
    picture: Picture | None = None  # of one of the first, or of one of a later power of two
    timeline: Timeline | None = None  # of the step before the last of them
    since_start: Step | None = None  # until the first of them
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=_MOST_STEPS))
    mark: tuple[int, Mapping[str, int]] = (0, {})


class Recorder:
    """Listens to the engine from ``start()`` to ``stop()``.

    Its own work is not counted into the script's steps. With ``at``, a file and a line, only the graphs of backwards
    called from there are described. With ``draws``, graphs are drawn and the memory of each step is written down.
    """

    def __init__(self, limit: int, at: tuple[str, int] | None = None, *, draws: bool = False) -> None:
        self.at = at
        self._draws = draws
        self._drawn: Picture | None = None  # of the backward that runs
        self._modules: AbstractContextManager[ModuleDiary] | None = None
        self._diary: ModuleDiary | None = None
        self._step: Timeline | None = None
        self.backwards: dict[tuple[str, int], Backward] = {}
        self.last: Backward | None = None
        self._limit = limit
        self._start: tuple[int, Mapping[str, int]] = (0, {})
        self._names: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._name_searches = 0
        self._backward_ns = 0

    def start(self) -> None:
        _core.timing(True)
        events.listen(self._after_backward)
        if self._draws:
            events.listen_before(self._before_backward)
            self._modules = record_modules()
            self._diary = self._modules.__enter__()
            self._step = Timeline(self._diary).__enter__()
        self._start = perf_counter_ns() - events.Spent.total, _core.timings()
        self._backward_ns = self._start[1]["backward"]

    def stop(self) -> None:
        events.stop_listening(self._after_backward)
        if self._modules is not None:
            events.stop_listening_before(self._before_backward)
            self._modules.__exit__(None, None, None)
            self._end_step()
        _core.timing(False)

    def _end_step(self) -> Timeline | None:
        ended, self._step = self._step, None
        if ended is not None:
            ended.__exit__(None, None, None)
        return ended

    def _before_backward(self, roots: tuple[Node, ...]) -> None:
        frames = user_frames(sys._getframe(1))
        if frames and not _core.backward_serial() and threading.current_thread() is threading.main_thread():
            key = (frames[0].f_code.co_filename, frames[0].f_lineno)
            known = self.backwards.get(key)
            number = 1 + (known.count if known is not None else 0)
            # A graph is drawn before it is freed. Which backward is the last one cannot be known.
            if (self.at is None or self.at == key) and (number & (number - 1)) == 0:
                self._drawn = draw(roots, params=self._named(self._leaf_names(roots, frames), roots))

    def _named(self, names: Mapping[int, str], roots: tuple[Node, ...]) -> Mapping[str, Any]:
        leaves = {id(leaf): leaf for leaf in map(_variable, walk(roots)) if leaf is not None}
        return {name: leaves[key] for key, name in names.items() if key in leaves}

    def _after_backward(self, roots: tuple[Node, ...], release: Release | None) -> None:
        now = (events.Spent.entered - events.Spent.total, _core.timings())
        frames = user_frames(sys._getframe(1))
        if frames and not self._is_nested(now[1]):
            backward = self._note(frames, now, roots)
            if self._draws and threading.current_thread() is threading.main_thread():
                self._note_step(backward, release)

    def _is_nested(self, timings: Mapping[str, int]) -> bool:
        """Whether this backward ran inside another, as those of `checkpoint` do: it is part of that one."""
        if threading.current_thread() is not threading.main_thread():
            return False  # times are taken on the main thread only
        # The engine adds to this time when an outermost backward ends.
        is_nested = timings["backward"] == self._backward_ns
        self._backward_ns = timings["backward"]
        return is_nested

    def _note_step(self, backward: Backward, release: Release | None) -> None:
        ended = self._end_step()
        if backward.count > 1 or backward.timeline is None:
            backward.timeline = ended
        self._step = Timeline(self._diary).__enter__()
        if self._drawn is not None:
            kept = ", which kept the graph" if release is None else ""
            self._drawn.snapshot(f"after backward {backward.count:,} at {backward.place.short}{kept}")
            backward.picture, self._drawn = self._drawn, None

    def _note(self, frames: list[FrameType], now: tuple[int, Mapping[str, int]], roots: tuple[Node, ...]) -> Backward:
        caller = frames[0]
        key = (caller.f_code.co_filename, caller.f_lineno)
        backward = self.backwards.get(key)
        if backward is None:
            backward = self.backwards[key] = Backward(Place(*key, caller.f_code.co_qualname))
            backward.since_start = _between(self._start, now)
        else:
            backward.steps.append(_between(backward.mark, now))
        backward.count += 1
        backward.mark = now
        self.last = backward
        if self.at is None or self.at == key:
            names = self._leaf_names(roots, frames)
            subject = f"graph of {', '.join(root.name() for root in roots)}"
            backward.explanation = explain_nodes(roots, subject, limit=self._limit, names=names)
        return backward

    def _leaf_names(self, roots: tuple[Node, ...], frames: list[FrameType]) -> Mapping[int, str]:
        """Names for the graph's leaves, searched in the callers' variables a few times at most."""
        # A leaf that is gone may have left its id to another one.
        self._names = {key: (leaf, name) for key, (leaf, name) in self._names.items() if leaf() is not None}
        if self._name_searches < _MOST_NAME_SEARCHES:
            leaves = {id(variable) for variable in map(_variable, walk(roots)) if variable is not None}
            if not leaves <= self._names.keys():
                self._name_searches += 1
                for path, tensor in find_tensors(scopes_of(frames)):
                    if id(tensor) in leaves:
                        self._names.setdefault(id(tensor), (weakref.ref(tensor), path))
        return {key: name for key, (_, name) in self._names.items()}


def _between(before: tuple[int, Mapping[str, int]], after: tuple[int, Mapping[str, int]]) -> Step:
    then, now = before[1], after[1]
    keys = ("recording", "forward_kernels", "backward", "operations")
    return Step(after[0] - before[0], *(now[key] - then[key] for key in keys))


def _variable(node: Any) -> object:
    return node.variable if node.name() == "AccumulateGrad" else None
