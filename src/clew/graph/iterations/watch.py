"""``clew.graph.watch``: a warning when one line of a training loop holds graphs of more and more iterations."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from types import TracebackType
from typing import Any

from ... import _core
from ..model.notebook import Shown
from ..model.places import Place
from ..model.protocol import Node
from ..model.records import Release
from ..model.wording import counted
from ..program.frames import user_frames
from .growth import GrowthWarning
from .holder import find_holder, find_holder_in
from .look import LEAF, Line, Look
from .rest import graphs_without_backward

MOST_SURE = 18
"""So many earlier iterations a line may hold; more than any window or unrolled loop that one is likely to want."""
MOST_WAITING = 200
"""The same for graphs that a later backward may be meant for: see Note [Held for good or waiting]."""
MOST_IN_THE_END = MOST_WAITING - 10
"""The same when the watch ends: a loop of `MOST_WAITING` is seen, whose last iterations are not counted."""


class Watch(Shown):
    """The result of :func:`watch`: a context manager, or an object to ``start()`` and ``stop()``.

    Attributes:
        warnings: all warnings so far, as :class:`GrowthWarning` objects.
        failure: the error in the watch itself that stopped it, if there was one. It does not stop the program.

    With ``warn=False`` it only collects warnings. ``clock`` returns the time in seconds; inspections get a small share
    of it. By default it is the machine's clock. With ``always`` it inspects after each iteration, whatever that costs.

    Example:
        >>> import warnings
        >>> w, total = clew.ones(3, requires_grad=True), clew.zeros(())
        >>> with clew.graph.watch() as watched, warnings.catch_warnings(action="ignore"):
        ...     for _ in range(20):
        ...         loss = (w * w).sum()
        ...         loss.backward()
        ...         total = total + loss
        >>> [warning.path for warning in watched.warnings]
        ['total']
        >>> watched
        <clew.graph.watch: off, 1 warning>
    """

    def __init__(self, *, warn: bool = True, clock: Callable[[], float] | None = None, always: bool = False) -> None:
        self._warn = bool(warn)
        self._clock = clock
        self._always = bool(always)
        self.warnings: list[GrowthWarning] = []
        self.failure: str | None = None
        self._is_on = False
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._began = _core.tick()
        self._listener = _core.GrowthListener(None if self._clock is None else self._seconds, self._always)
        self._iterations = self._listener.iterations
        self._schedule = self._listener.schedule
        self._before: dict[Place, tuple[int, int]] = {}  # what each line held at the last look
        self._limits: dict[Place, int] = {}  # for lines that have been told, or whose graphs were only garbage

    def __repr__(self) -> str:
        return f"<clew.graph.watch: {'on' if self._is_on else 'off'}, {counted(len(self.warnings), 'warning')}>"

    @property
    def looks(self) -> int:
        """How often it has looked at the living graphs."""
        return self._schedule.looks

    def start(self) -> Watch:
        """Begin to watch; iterations are counted from here. Returns itself. No effect if it watches already."""
        if not self._is_on:
            self._reset()
            self._is_on = True
            self._listener.start(self._look_now, self._records)
        return self

    def stop(self) -> None:
        """Stop watching: from now on it costs nothing. No effect if it does not watch."""
        if self._is_on:
            self._end()
            if self._warn:  # who collects looks at the rest with what they know
                told = self.rest()
                self.warnings += told
                self._say(told)

    def __enter__(self) -> Watch:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.stop()
        else:
            self._end()

    def _end(self) -> None:
        self._is_on = False
        self._listener.stop()

    def _say(self, told: list[GrowthWarning]) -> None:
        for warning in told:
            warnings.warn_explicit(warning, None, warning.made_at.file, warning.made_at.line)

    def rest(self, scopes: Sequence[Mapping[str, object]] | None = None) -> list[GrowthWarning]:
        """What is to be told when it has stopped, and was not: graphs that no backward came to.

        These are results whose graphs are kept, and lines that hold many iterations: a graph that grows from one
        ``autograd.grad`` to the next, as a chain of samples does, waits for no backward of its own any more.

        Args:
            scopes: variables to look for names in; those of the callers, if None.
        """
        frames = user_frames(sys._getframe(1)) if scopes is None else []

        def holder(tensors: Sequence[Any], cover_of: Callable[[Any], int]) -> str | None:
            return (
                find_holder(tensors, cover_of, frames) if scopes is None else find_holder_in(scopes, tensors, cover_of)
            )

        try:
            told = [
                GrowthWarning(
                    kept.place, holder(kept.tensors, kept.cover_of), kept.graphs, len(kept.nodes), kept.nbytes
                )
                for kept in graphs_without_backward(self._iterations, self._began)
                if self._limits.get(kept.place) != sys.maxsize
            ]
            self._limits |= dict.fromkeys((warning.made_at for warning in told), sys.maxsize)
            look = Look(self._iterations, (), None)
            told += self._tell(look, self._held_in_the_end(look), holder)
        except Exception as error:
            self.failure = repr(error)
            return []
        return told

    def _held_in_the_end(self, look: Look) -> list[Line]:
        lines = [line for line in look.lines.values() if line.iterations >= MOST_IN_THE_END]
        return sorted(
            (line for line in lines if self._limits.get(line.place) != sys.maxsize), key=lambda line: line.first
        )

    def _look_now(self, roots: tuple[Node, ...], release: Release | None) -> None:
        """Called by the listener at the end of an iteration after which a look is due."""
        try:
            told = self._look_once(roots, release)
        except Exception as error:  # what watches must not break what is watched
            self._fail(error)
            return
        if self._warn:
            self._say(told)

    def _records(self, newest_root: int, file: str, line: int) -> bool:
        """Asked by the listener about a line that called a backward which kept its graph."""
        try:
            return _has_recorded(newest_root, file, line)
        except Exception as error:
            self._fail(error)
            return False

    def _seconds(self) -> float:
        try:
            return float(self._clock()) if self._clock else 0.0
        except Exception as error:
            self._fail(error)
            return 0.0

    def _fail(self, error: Exception) -> None:
        self._end()
        self.failure = repr(error)

    def _look_once(self, roots: tuple[Node, ...], release: Release | None) -> list[GrowthWarning]:
        if not self._lock.acquire(blocking=False):
            return []  # another thread is looking
        collects = gc.isenabled()
        gc.disable()  # the many small objects of a look would set it off again and again
        try:
            return self._look(roots, release)
        finally:
            if collects:
                gc.enable()
            self._lock.release()

    def _look(self, roots: tuple[Node, ...], release: Release | None) -> list[GrowthWarning]:
        started = perf_counter()
        look = Look(self._iterations, roots, release)
        ready = self._ready(look)
        told: list[GrowthWarning] = []
        if ready:
            # What only waits for the garbage collector is no leak. Nothing may be held while it runs.
            limits = {line.place: 2 * line.iterations for line in ready}
            del look, ready
            gc.collect()
            look = Look(self._iterations, roots, release)
            frames = user_frames(sys._getframe(1))
            told = self._tell(look, self._ready(look), lambda tensors, cover_of: find_holder(tensors, cover_of, frames))
            self.warnings += told
            self._limits = limits | self._limits
            started = perf_counter()  # this was for once, and is not held against later looks
        wait = self._wait(look)
        self._before = {place: (line.sure, line.iterations) for place, line in look.lines.items()}
        self._schedule.looked(perf_counter() - started, wait)
        return told

    def _ready(self, look: Look) -> list[Line]:
        """The lines that hold too much, now and more than at the last look; first the earliest."""
        ready = []
        for place, line in look.lines.items():
            sure, iterations = self._before.get(place, (0, 0))
            limit = self._limits.get(place, 0)
            if (line.sure >= max(MOST_SURE, limit) and line.sure > sure > 0) or (
                line.iterations >= max(MOST_WAITING, limit) and line.iterations > iterations > 0
            ):
                ready.append(line)
        return sorted(ready, key=lambda line: line.first)

    def _wait(self, look: Look) -> int | None:
        """In how many iterations the first of the lines that grow may hold too many."""
        waits = []
        for place, line in look.lines.items():
            if place not in self._limits:
                sure, iterations = self._before.get(place, (0, 0))
                waits.append(self._schedule.wait(line.sure, sure, MOST_SURE))
                waits.append(self._schedule.wait(line.iterations, iterations, MOST_WAITING))
        return min((wait for wait in waits if wait is not None), default=None)

    def _tell(self, look: Look, ready: list[Line], holder: Callable[..., str | None]) -> list[GrowthWarning]:
        told: list[GrowthWarning] = []
        while ready:
            line = ready.pop(0)
            self._limits[line.place] = sys.maxsize
            path = holder(line.tensors, look.cover_of)
            nodes, nbytes = look.size_of(line)
            told.append(GrowthWarning(line.place, path, line.iterations, nodes, nbytes))
            # The others may hold as much only because they were computed from this.
            others = look.without(line)
            for other in list(ready):
                if others[other.place] < MOST_SURE // 2:
                    self._limits[other.place] = sys.maxsize
                    ready.remove(other)
        return told


def _has_recorded(newest_root: int, file: str, line: int) -> bool:
    """Whether a backward that kept its graph was ``autograd.grad`` with ``create_graph``: a step in an iteration.

    The user's line that called it has then made living tensors after its roots, none of which is a ``.grad``.
    """
    tensors = _core.live_tensors()
    for tensor in tensors:
        node: Any = tensor._held_node
        if node is not None and newest_root < node._sequence_nr() < LEAF:
            site = node.made_at
            if site is not None and site.line == line and site.file == file:
                break
    else:
        return False
    gradients = (tensor.grad for tensor in tensors if tensor._held_node is None)
    return not any(
        gradient is not None and gradient._held_node is not None and gradient._held_node._sequence_nr() > newest_root
        for gradient in gradients
    )


def watch() -> Watch:
    """Warn when the results of one line of a training loop keep the graphs of more and more iterations alive.

    The graph of an iteration should be freed when the iteration ends. It stays alive if something keeps a tensor with
    history: ``running_loss += loss``, ``losses.append(loss)``, a hidden state that is not detached, a moving average of
    activations, outputs kept by a hook. A :class:`GrowthWarning` then names the line that created these tensors and the
    variable that keeps them. It comes once for each line, within 20 iterations. Graphs that may still wait for a
    backward of their own are given 200 iterations: no backward has gone through them or to their parameters.

    When the watch ends, it also reports results without a backward: losses, predictions or a running sum of an
    evaluation without ``no_grad()``, and chains of ``autograd.grad`` without a ``detach()``. These are given 200
    iterations, too, or 18 if there was no backward at all.

    An iteration ends with each ``backward()`` or ``autograd.grad()`` of the program. ``autograd.grad`` with
    ``create_graph=True`` is a step within an iteration. Windows and unrolled loops of up to 17 iterations cause no
    warning. Nor do graphs that grow within one iteration. With the filter ``error`` the warning is raised from the call
    of ``backward``, after the backward has finished.

    A backward takes half a microsecond more (``python bench/looking.py`` measures 0.3 to 0.6 on a step of ten). From
    time to time the watch inspects the graphs that are alive. This takes at most 1 % of the time without a reason, 3 %
    while the number of nodes rises, and 6 % while it follows a suspicion; the first few inspections do not count. If an
    iteration takes microseconds, these limits may delay the warning. Of more than 100,000 nodes only a part is
    inspected.

    The watch keeps nothing alive. It does not see graphs that are kept through nodes alone
    (``kept.append(loss.grad_fn)``). It does not report graphs that wait for Python's garbage collector.

    Returns:
        A :class:`Watch`: a context manager, or use ``start()`` and ``stop()``. Its ``warnings`` has all warnings.

    Example:
        >>> import warnings
        >>> w = clew.ones(3, requires_grad=True)
        >>> total = clew.zeros(())
        >>> with clew.graph.watch() as watched, warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     for _ in range(20):
        ...         loss = (w * w).sum()
        ...         loss.backward()
        ...         total = total + loss  # keeps every graph: write loss.item() or loss.detach()
        >>> [(warning.path, warning.iterations) for warning in watched.warnings]
        [('total', 18)]
    """
    return Watch()
