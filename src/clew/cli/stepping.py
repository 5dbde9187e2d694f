"""``clew xray --step``: a backward shown node by node, on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .. import _core
from ..graph.gradients.step import Step
from ..graph.model import events
from ..graph.model.protocol import Node
from ..graph.model.records import Release
from ..graph.program.frames import user_frames
from .place import At

_HELP = "Enter: next node   p: print the gradients   c: run on   q: end the script"


class Stepper:
    """Shows each node of one backward when it has run: of the first, or of the first that ``at`` calls.

    Where someone can answer (stdin is a terminal) it waits after each node; else it prints them all.
    """

    def __init__(self, at: At | None, ask: Callable[[], str] | None = None) -> None:
        self._at = at
        self._ask = ask or (_ask if sys.stdin is not None and sys.stdin.isatty() else None)
        self._number = 0
        self._is_on = False

    def start(self) -> None:
        """Begin to listen."""
        self._is_on = True
        _core.on_step(self._show)
        events.listen(self._after_backward)

    def stop(self) -> None:
        """Let backward passes run as ever."""
        if self._is_on:
            self._is_on = False
            _core.on_step(None)
            events.stop_listening(self._after_backward)

    def _after_backward(self, roots: tuple[Node, ...], release: Release | None) -> None:
        if self._number:
            self.stop()

    def _show(self, node: Node, incoming: tuple[Any, ...], outgoing: tuple[Any, ...]) -> None:
        frame = user_frames(sys._getframe(1))[0]
        place = frame.f_code.co_filename, frame.f_lineno
        if self._at is not None and not self._at.matches(*place):
            return
        if self._number == 0:
            waits = f"\n{_HELP}" if self._ask else ""
            called = f"backward called at {place[0].rpartition('/')[2]}:{place[1]}"
            print(f"{called}, node by node, in the order in which they run{waits}")
        self._number += 1
        step = Step(self._number, node, incoming, outgoing)
        print(step, flush=True)
        while self._ask is not None:
            answer = self._ask()
            if answer == "p":
                for name, gradients in (("came", incoming), ("sent on", outgoing)):
                    for gradient in gradients:
                        print(f"  {name}: {gradient!r}")
            elif answer == "c":
                _core.on_step(None)
                self._ask = None
            elif answer == "q":
                raise SystemExit(0)
            elif answer == "":
                return
            else:
                print(_HELP)


def _ask() -> str:
    try:
        return input("> ").strip().lower()
    except EOFError:
        return "c"
