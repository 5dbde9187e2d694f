"""Looks on while a training loop runs, and says what raises no error in it but is usually a bug.

Note [Spells of looking]
An observer that is called at each backward and step takes some microseconds of each, however little it does. So after
the first passes it sleeps. It wakes for a few steps after twice as many passes, four times as many and so on, and when
an optimizer is made. A sleeping observer is called by nobody: an alarm in the core counts the passes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ... import _core
from ..model import events
from ..model.records import Release
from ..program.frames import user_frames
from ..program.optimizers import made_listeners
from .finding import Finding
from .passes import Passes
from .steps import Steps, is_sampled

_FIRST_PASSES = 500  # that it is awake for, at first and when an optimizer was made
_MOST_PASSES = 64  # that it is awake for later
_STEPS = 3  # of each optimizer that steps then; after them it sleeps
_LOOKS = 4  # at backward passes then

StepWatchers = list[Callable[[Any, int], None]]


class Observer:
    """Notes of optimizers and backward passes what :meth:`findings` needs. Most are only counted.

    Args:
        step_watchers: the list in ``clew.optim`` of what is called after each optimizer's step.

    Example:
        >>> model = clew.nn.Linear(2, 1)
        >>> optimizer = clew.optim.SGD(model.parameters(), lr=0.0)
        >>> with clew.graph.notes.observer.Observer(clew.optim.optimizer.watchers) as observer:
        ...     for _ in range(4):
        ...         optimizer.zero_grad()
        ...         model(clew.ones(3, 2)).sum().backward()
        ...         optimizer.step()
        >>> [finding.kind for finding in observer.findings()]
        ['zero step']
    """

    def __init__(self, step_watchers: StepWatchers) -> None:
        self._watchers = step_watchers
        self._steps: dict[int, Steps] = {}
        self._passes = Passes()
        self._backward_passes = 0  # those that were slept through included
        self._last_pass = _FIRST_PASSES  # of this spell, at the latest
        self._woke_at = 0
        self._samples_all = False
        self._alarm = _core.BackwardAlarm()
        self._counts: dict[tuple[Any, int], int] = {}
        self._optimized: set[int] = set()
        self.failure: str | None = None

    def start(self) -> None:
        """Begin to look."""
        events.listen_before(self._before_backward)
        events.listen(self._after_backward)
        self._watchers.append(self._after_step)

    def stop(self) -> None:
        """Stop looking; no effect if it has stopped."""
        if self._after_step in self._watchers:
            self._watchers.remove(self._after_step)
            events.stop_listening_before(self._before_backward)
            events.stop_listening(self._after_backward)
        if self._optimizer_made in made_listeners:
            made_listeners.remove(self._optimizer_made)
            self._alarm.stop()

    def _sleep(self) -> None:
        """Be called by nobody until as many backward passes have run as until now."""
        self.stop()
        for steps in self._steps.values():
            steps.rest()
        self._passes.note_end()
        made_listeners.append(self._optimizer_made)
        self._alarm.set(self._backward_passes, lambda: self._wake(self._backward_passes, _MOST_PASSES))

    def _wake(self, slept: int, passes: int) -> None:
        self.stop()
        self._backward_passes += slept
        self._woke_at, self._last_pass = self._backward_passes, self._backward_passes + passes
        self._samples_all = passes == _MOST_PASSES
        self.start()

    def _optimizer_made(self, optimizer: Any) -> None:
        self._wake(self._backward_passes - self._alarm.left, _FIRST_PASSES)
        self._counts.clear()

    def _has_seen_enough(self) -> bool:
        if self._backward_passes >= self._last_pass:
            return True
        stepping = [steps.in_spell for steps in self._steps.values() if steps.in_spell]
        return self._samples_all and bool(stepping) and min(stepping) >= _STEPS

    def __enter__(self) -> Observer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def findings(self) -> list[Finding]:
        """What was found so far, in the order of the lines; but first what is in no optimizer.

        Where an optimizer was given another model's parameters by mistake, that these get no gradient follows from it.
        """
        found = [finding for steps in self._steps.values() for finding in steps.findings()]
        made = [(steps.kind, steps.made_at) for steps in self._steps.values()]
        found += self._passes.findings(self._optimized, made)
        return sorted(found, key=_order)

    def _before_backward(self, roots: tuple[Any, ...]) -> None:
        for steps in self._steps.values():
            self._guard(steps.before_backward)
        self._backward_passes += 1
        is_late = self._samples_all and self._backward_passes - self._woke_at > _LOOKS
        if is_late or threading.current_thread() is not threading.main_thread():
            return
        frames = user_frames(sys._getframe(1))
        if not frames:
            return
        key = frames[0].f_code, frames[0].f_lineno
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if self._samples_all or is_sampled(count):
            self._guard(lambda: self._passes.note(roots, frames, self._optimized))

    def _after_backward(self, roots: tuple[Any, ...], release: Release | None) -> None:
        for steps in self._steps.values():
            self._guard(steps.after_backward)
        self._guard(self._passes.note_end)
        is_in_step = self._after_step not in self._watchers  # as the backward of a closure
        if self._backward_passes >= self._last_pass + _MOST_PASSES and not is_in_step:
            self._sleep()

    def _after_step(self, optimizer: Any, state_before: int) -> None:
        steps = self._steps.get(id(optimizer))
        if steps is None or steps.optimizer() is not optimizer:
            steps = self._steps[id(optimizer)] = Steps(optimizer)
            self._optimized |= {id(parameter) for parameter in steps.parameters()}
        looks = self._samples_all or is_sampled(steps.count + 1)
        frames = user_frames(sys._getframe(1)) if looks else []
        self._guard(lambda: steps.after_step(frames, looks))
        if self._has_seen_enough() and self._after_step in self._watchers:
            self._sleep()

    def _guard(self, look: Callable[[], None]) -> None:
        """What looks on must not break what it looks at."""
        try:
            _core.unseen(look)
        except Exception as error:
            self.failure = repr(error)
            self.stop()


def _order(one: Finding) -> tuple[bool, str, int]:
    return one.kind != "no optimizer", one.place.file if one.place else "", one.place.line if one.place else 0
