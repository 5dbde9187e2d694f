"""What a workload is, and how a run of it is timed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter_ns
from typing import Any, ClassVar

Module = Any
Jit = Callable[[Any], Any]


@dataclass(slots=True)
class Run:
    """A workload made ready for one library.

    ``call`` is timed. What is compared between the libraries is what the second call returns, or, of a training, what
    each of its first ``steps_compared`` calls returns, or what ``check`` gives;
    ``prepare`` makes, untimed, the argument of each call; ``ready`` waits for a result that is still being computed;
    ``loop(n)`` runs the call n times without a Python function around it.
    """

    call: Callable[..., Any]
    check: Callable[[], Any] | None = None
    steps_compared: int = 0
    prepare: Callable[[], Any] | None = None
    ready: Callable[[Any], Any] | None = None
    loop: Callable[[int], Any] | None = None

    def results(self) -> Any:
        if self.check is not None:
            return self.check()
        results = self.first_calls(self.steps_compared or 2)
        return results if self.steps_compared else results[-1]

    def first_calls(self, count: int) -> list[Any]:
        """What so many calls give, waited for."""
        results = [self.call(self.prepare()) if self.prepare else self.call() for _ in range(count)]
        if self.ready is not None and results:
            self.ready(results[-1])
        return results

    def time(self, calls: int) -> int:
        """The nanoseconds that so many calls take, with the garbage collector held."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return self._time(calls)
        finally:
            if was_enabled:
                gc.enable()

    def _time(self, calls: int) -> int:
        if self.prepare is not None:
            total = 0
            for _ in range(calls):
                argument = self.prepare()
                started = perf_counter_ns()
                self.call(argument)
                total += perf_counter_ns() - started
            return total
        call, last = self.call, None
        started = perf_counter_ns()
        if self.loop is not None:
            last = self.loop(calls)
        else:
            for _ in repeat(None, calls):
                last = call()
        if self.ready is not None:
            self.ready(last)
        return perf_counter_ns() - started

    def calls_of_a_round(self, round_ns: int) -> tuple[int, float]:
        """How many calls make a round of about ``round_ns``, and the nanoseconds it will take; also warms up."""
        calls = 1
        while True:
            took = max(1, self.time(calls))
            if took >= round_ns / 3 or calls >= 1_000_000:
                break
            calls *= 4 if took < round_ns / 12 else 2
        one = took / calls
        calls = max(1, round(round_ns / one))
        if self.prepare:
            calls = min(calls, 100)  # what is prepared takes longer than what is timed
        return calls, calls * one


class Workload:
    """One thing to measure. A library takes part if the method that it needs is there.

    ``eager`` is written once for clew and PyTorch: the module is passed, and ``jit`` (``torch.compile``, or nothing at
    all) is put around what can be compiled.
    """

    name: str
    group: str = "training"
    count: int = 1  # how many of what the name says one call does
    tolerance: float = 1.0  # times the tolerance of the results' dtype
    compiled: ClassVar[bool] = False  # whether torch.compile takes part
    replayed: bool = False  # whether clew.compile takes part, around the whole call
    replayed_inside: ClassVar[bool] = False  # or rather where torch.compile would be
    clew_alone: bool = False
    beside_clew: bool = False  # not for clew
    timed: bool = True
    trains: bool = False  # whether its peak memory is measured
    bytes_of: int = 1  # the peak is divided by this

    def eager(self, m: Module, jit: Jit) -> Run:
        raise NotImplementedError

    def jax(self, jax: Module) -> Run:
        raise NotImplementedError

    def numpy(self, np: Module) -> Run:
        raise NotImplementedError

    def autograd(self, autograd: Module) -> Run:
        raise NotImplementedError

    def machine(self, np: Module) -> Run:
        raise NotImplementedError

    def has(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(Workload, method)

    def facts(self) -> dict[str, Any]:
        """What the tables and plots need to know besides the name."""
        return {}


def as_list(results: Any) -> Sequence[Any]:
    return results if isinstance(results, (list, tuple)) else [results]
