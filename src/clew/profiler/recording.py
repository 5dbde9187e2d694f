"""Profiles: which operations a block calls, how often and how long, by an interpreter that looks on.

Nothing of this runs while no profile is on. A profile sees the operations of its own thread. A function compiled by
`clew.compile` runs eagerly meanwhile, so that its operations are seen.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, NamedTuple

import clew

from .. import _core
from ..graph.program.frames import user_frames
from ..optim.optimizer import watchers
from .events import EventList, FunctionEvent, write_trace

__all__ = ["emit_itt", "emit_nvtx", "load_nvprof", "profile", "record_function"]

# What PyTorch calls operations of other names. Those that make tensors have a leading underscore here.
_NAMES = {
    "_cast": "_to_copy",
    "_convolution_weight": "convolution_backward",
    "_product": "mm",
    "_threshold_backward": "threshold_backward",
    "constant": "lift_fresh",
}
_READS = {"item", "float", "int", "bool", "index"}  # of one number: PyTorch's aten::item
_labels: dict[tuple[str, str], tuple[str, str] | None] = {}
_active = threading.local()


def _label(form: str, name: str) -> tuple[str, str] | None:
    """The name and the overload's name in a profile; None for what is no operation in PyTorch."""
    if form in ("rebind", "read", "function"):
        return ("aten::item", "") if name in _READS and form == "read" else None
    plain, _, overload = name.partition(".")
    plain = _NAMES.get(plain, plain[1:] if plain[:1] == "_" and hasattr(clew, plain[1:]) else plain)
    space = "" if "::" in plain else "clew::" if plain.endswith("_step") else "aten::"  # optimizers' steps are ours
    return space + plain, overload


def _product_flops(shapes: list[list[int]], result: list[int]) -> int:
    """Of matrices, whichever of them is transposed: m k, k n and m n elements take 2 m k n."""
    left, right = [shape for shape in shapes if len(shape) >= 2][-2:]
    elements = math.prod(left) * math.prod(right) * math.prod(result)
    return 2 * math.isqrt(elements // max(math.prod(result[:-2]), 1))


def _convolution_flops(shapes: list[list[int]], result: list[int]) -> int:
    """Also of a transposed one, whose input has the channels that `weight` has first."""
    data, weight = shapes[:2]
    into, out = (one[len(one) - len(weight) + 1] for one in (data, result))
    ends = [math.prod(one) for one, channels in ((result, out), (data, into)) if channels == weight[0]]
    return 2 * min(ends, default=0) * math.prod(weight[1:])


# How many multiplications and additions one call takes, from the shapes of its inputs and its result.
_FLOPS: dict[str, Callable[[list[list[int]], list[int]], int]] = {
    **dict.fromkeys(("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"), _product_flops),
    **dict.fromkeys(("aten::add", "aten::mul"), lambda shapes, result: math.prod(result)),
    "aten::convolution": _convolution_flops,
    "aten::convolution_backward": lambda shapes, result: 2 * math.prod(shapes[0]) * math.prod(result[1:]),
    "aten::_flash_attention": lambda shapes, result: 4 * math.prod(shapes[0]) * shapes[1][-2],
}


class _Raw(NamedTuple):
    """What an event is before it ends; `children` are the numbers of those in it."""

    name: str
    overload: str
    start: int
    parent: int
    shapes: list[list[int]] | None
    stack: list[str] | None
    live: int
    scope: int
    is_user: bool


def _question(name: str) -> Any:
    """A method that hands a question to the list of events."""

    def ask(self: profile, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._finished(), name)(*args, **kwargs)

    return functools.update_wrapper(ask, getattr(EventList, name))


class _Steps:
    """Makes each step of an optimizer an event: it is told before one and after it."""

    def __init__(self, owner: profile) -> None:
        self._owner, self._begun = owner, -1

    def before_step(self, optimizer: Any) -> None:
        if getattr(_active, "profile", None) is self._owner:  # not a step of another thread
            name = type(optimizer).__name__
            self._begun = self._owner.begin(f"Optimizer.step#{name}.step")

    def __call__(self, optimizer: Any, before: int) -> None:
        if self._owner.function_events is not None:
            watchers.remove(self)
        elif getattr(_active, "profile", None) is self._owner and self._begun >= 0:
            self._owner.end(self._begun)


class profile:
    """Record the operations of a block, in this thread.

    `torch.profiler.profile` is the newer way, with a schedule; both record the same. Memory is what an event takes
    less what it frees; freeing outside of events is not recorded.

    Args:
        enabled: False records nothing.
        record_shapes: keep the shapes of each operation's tensors.
        with_flops: count multiplications and additions of matrix products, convolutions, `add` and `mul`.
        profile_memory: keep how many bytes each event allocated.
        with_stack: keep the lines of Python that called each operation, without those inside of clew.

    Raises:
        RuntimeError: another profile runs in this thread.

    Example:
        >>> with torch.autograd.profiler.profile(record_shapes=True) as prof:
        ...     _ = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> [(event.name, event.input_shapes) for event in prof.function_events if event.name == "aten::mm"]
        [('aten::mm', [[2, 3], [3, 4]])]
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
        record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False,
        with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None,
        acc_events: bool = False, custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        self.enabled = enabled
        self.record_shapes, self.with_flops = record_shapes or with_flops, with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self.function_events: EventList | None = None
        self.metadata: dict[str, str] = {}
        self.entered = False
        self._raw: list[_Raw] = []
        self._ends: list[tuple[int, int, int]] = []  # of each: when, bytes that are live, flops
        self._open: list[int] = []
        self._interpreter: Any = None
        self._steps = _Steps(self)

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        if getattr(_active, "profile", None) is not None:
            raise RuntimeError("profile: expected no other profile in this thread, got one that runs; end it first")
        self.entered = True
        self._interpreter = _core.Interpreter(self._handle)
        self._interpreter.push()
        _active.profile = self
        watchers.append(self._steps)
        return self

    def __exit__(self, *error: Any) -> None:
        if not self.enabled:
            return
        self._interpreter.pop()
        self._interpreter = _active.profile = None
        if self._steps in watchers:  # not within a step, which may call what ends a profile: then after it
            watchers.remove(self._steps)
        while self._open:  # a block that is still open ends here
            self.end(self._open[-1])
        self.function_events = self._events()

    def begin(self, name: str, overload: str = "", shapes: list[list[int]] | None = None, is_user: bool = True) -> int:
        """Open an event; its number. Those that begin before it ends are in it."""
        number, parent = len(self._raw), self._open[-1] if self._open else -1
        stack = None
        if self.with_stack:
            stack = [
                f"{frame.f_code.co_filename}({frame.f_lineno}): {frame.f_code.co_qualname}"
                for frame in user_frames(sys._getframe(1))
            ]
        live = _core.memory_stats()["live"] if self.profile_memory else 0
        scope = 7 if is_user else 1 if _core.backward_serial() else 0
        self._ends.append((0, 0, 0))
        self._open.append(number)
        self._raw.append(_Raw(name, overload, time.perf_counter_ns(), parent, shapes, stack, live, scope, is_user))
        return number

    def end(self, number: int, flops: int = 0) -> None:
        """Close an event, and those in it that are still open."""
        now = time.perf_counter_ns()
        live = _core.memory_stats()["live"] if self.profile_memory else 0
        while number in self._open:
            last = self._open.pop()
            self._ends[last] = now, live, flops if last == number else 0

    def _handle(self, call: Any) -> None:
        form, name = call.form, call.name
        key = (form, name)
        if key not in _labels:
            _labels[key] = _label(form, name)
        label = _labels[key]
        if label is None:
            call.run()
            return
        shapes = None
        if self.record_shapes:
            shapes = [[] if one is None else list(one.shape) for one in call.inputs]
        number, flops = self.begin(*label, shapes, is_user=False), 0
        try:
            call.run()
            if self.with_flops and shapes is not None and label[0] in _FLOPS:
                results = call.outputs or call.inputs[:1]
                flops = _FLOPS[label[0]](shapes, list(results[0].shape))
        finally:
            self.end(number, flops)

    def _events(self) -> EventList:
        thread, events = threading.get_native_id(), []
        for number, (raw, (end, live, flops)) in enumerate(zip(self._raw, self._ends, strict=True)):
            event = FunctionEvent(
                number, raw.name, thread, raw.start / 1e3, end / 1e3, raw.overload, None, raw.shapes, raw.stack,
                raw.scope, live - raw.live, raw.is_user, flops,
            )  # fmt: skip
            events.append(event)
            if raw.parent >= 0:
                events[raw.parent].append_cpu_child(event)
        return EventList(events, profile_memory=self.profile_memory, with_flops=self.with_flops)

    def _finished(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def __repr__(self) -> str:
        return "<unfinished profiler_legacy.profile>" if self.function_events is None else str(self.function_events)

    __str__ = __repr__

    table = _question("table")
    total_average = _question("total_average")

    def key_averages(self, group_by_input_shape: bool = False, *args: Any, **kwargs: Any) -> EventList:
        """Sums over events of one key: see `EventList.key_averages`."""
        return self._finished().key_averages(group_by_input_shape, *args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a trace that chrome://tracing and Perfetto read; compressed if `path` ends in ".gz"."""
        facts = ("with_stack", "profile_memory", "record_shapes", "with_flops")
        write_trace(self._finished(), path, {name: int(getattr(self, name)) for name in facts} | self.metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a line for each stack, for flame graphs; needs `with_stack=True`."""
        if not self.with_stack:
            raise RuntimeError("export_stacks: expected a profile with with_stack=True, got one without stacks")
        self._finished().export_stacks(path, metric)

    self_cpu_time_total = property(lambda self: self._finished().self_cpu_time_total)


class record_function(ContextDecorator):
    """A block, or the calls of a function, as an event of the profile that runs; nothing if none does.

    Example:
        >>> with torch.profiler.profile() as prof:
        ...     with torch.profiler.record_function("my block"):
        ...         _ = torch.ones(2)
        >>> prof.events()[0].name
        'my block'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._begun: tuple[profile, int] | None = None

    def _recreate_cm(self) -> record_function:
        return record_function(self.name, self.args)  # a function may call itself

    def __enter__(self) -> record_function:
        active = getattr(_active, "profile", None)
        if active is not None:
            self._begun = active, active.begin(self.name)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._begun is not None:
            (active, number), self._begun = self._begun, None
            active.end(number)


class emit_nvtx:
    """Markers for a profiler of a vendor: entering it raises. `enabled=False` does nothing."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise NotImplementedError(
                f"{type(self).__name__}: expected a profiler that clew has, got a vendor's; use torch.profiler.profile"
            )
        return self

    def __exit__(self, *error: Any) -> None: ...


class emit_itt(emit_nvtx):
    """The same, for Intel's profiler."""


def load_nvprof(path: str) -> EventList:
    """Files of nvprof are of CUDA devices.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("load_nvprof: expected a profile of the CPU, got nvprof's; use torch.profiler.profile")
