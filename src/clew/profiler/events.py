"""What a profile recorded: events, sums over events of one name, their table, their traces."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"
_METRICS = ["self_cpu_time_total", "self_cuda_time_total"]


class Interval:
    """From `start` to `end`, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


def _time(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def _memory(nbytes: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


class FormattedTimesMixin:
    """Times as texts, and the times of devices, which are 0: the CPU is the only device."""

    cpu_time: Any
    cpu_time_total: Any
    self_cpu_time_total: Any
    device_time = device_time_total = self_device_time_total = 0
    device_memory_usage = self_device_memory_usage = 0
    cuda_time = cuda_time_total = self_cuda_time_total = self_cuda_memory_usage = 0
    is_async = is_remote = is_legacy = False
    node_id, use_device = -1, None

    cpu_time_str = property(lambda self: _time(self.cpu_time))
    cpu_time_total_str = property(lambda self: _time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _time(self.self_cpu_time_total))
    device_time_str = device_time_total_str = self_device_time_total_str = property(lambda self: _time(0))


class FunctionEvent(FormattedTimesMixin):
    """One call of an operation, or one block of `record_function`. Times are in microseconds, memory in bytes."""

    count = 1

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, overload_name: str | None = None,
        fwd_thread: int | None = None, input_shapes: list[list[int]] | None = None, stack: list[str] | None = None,
        scope: int = 0, cpu_memory_usage: int = 0, is_user_annotation: bool = False, flops: int | None = None,
    ) -> None:  # fmt: skip
        # All steps are summed as one.
        self.id, self.name, self.trace_name = id, "ProfilerStep*" if name.startswith("ProfilerStep#") else name, name
        self.thread = thread
        self.time_range = Interval(start_us, end_us)
        self.overload_name, self.fwd_thread, self.scope = overload_name or "", fwd_thread, scope
        self.input_shapes, self.stack = input_shapes or [], stack or []
        self.cpu_memory_usage, self.is_user_annotation, self.flops = cpu_memory_usage, is_user_annotation, flops
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list[Any] = []

    key = property(lambda self: self.name)
    cpu_time = cpu_time_total = property(lambda self: self.time_range.elapsed_us())
    self_cpu_time_total = property(lambda self: self.cpu_time - sum(child.cpu_time for child in self.cpu_children))
    self_cpu_memory_usage = property(
        lambda self: self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)
    )

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Make `child` a part of this event."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} thread={self.thread} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sums over events of one key."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count, self.cpu_time_total, self.self_cpu_time_total = 0, 0.0, 0.0
        self.cpu_memory_usage, self.self_cpu_memory_usage, self.flops = 0, 0, 0
        self.input_shapes: Any = None
        self.stack: list[str] | None = None
        self.overload_name, self.scope, self.is_user_annotation = "", 0, False

    cpu_time = property(lambda self: self.cpu_time_total / self.count if self.count else 0.0)

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Count `other` in: an event, or other sums."""
        if self.key is None:
            self.key, self.overload_name, self.scope = other.key, other.overload_name, other.scope
            self.input_shapes, self.stack = other.input_shapes, other.stack
            self.is_user_annotation = other.is_user_annotation
        self.count += other.count
        for name in ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or their sums, with what a profile says of them.

    Example:
        >>> with torch.profiler.profile() as prof:
        ...     _ = torch.ones(2) * 3
        >>> [(one.key, one.count) for one in prof.key_averages() if one.key == "aten::mul"]
        [('aten::mul', 1)]
    """

    def __init__(
        self, events: Iterable[Any] = (), *, profile_memory: bool = False, with_flops: bool = False, **unused: Any
    ) -> None:
        super().__init__(events)
        self._profile_memory, self._with_flops = profile_memory, with_flops

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each moment counted once."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums over the events of one name, and of one list of input shapes, innermost frames or overload name."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            stack = tuple(event.stack[:group_by_stack_n])
            overload = event.overload_name if group_by_overload_name else ""
            found = sums.setdefault((event.key, shapes, stack, overload), FunctionEventAvg())
            found.add(event)
            found.input_shapes, found.stack = shapes, list(stack)
            found.overload_name = overload
        return EventList(sums.values(), profile_memory=self._profile_memory, with_flops=self._with_flops)

    def total_average(self) -> FunctionEventAvg:
        """The sums over all."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key, total.input_shapes, total.stack = "Total", None, None
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """A text with a row for each event.

        Args:
            sort_by: the attribute that decides the order, the largest first, as "cpu_time_total" or "count".
            row_limit: how many rows at most; -1 for all.
            time_unit: "s", "ms" or "us" for all times, instead of what suits each.
        """
        rows = [one for one in self if not (top_level_events_only and getattr(one, "cpu_parent", None) is not None)]
        if sort_by is not None:
            rows.sort(key=lambda one: getattr(one, sort_by.replace("cuda", "device")), reverse=True)
        scales = {"s": 1e6, "ms": 1e3, "us": 1.0}

        def shown(microseconds: float) -> str:
            return _time(microseconds) if time_unit is None else f"{microseconds / scales[time_unit]:.3f}{time_unit}"

        whole = self.self_cpu_time_total

        def share(microseconds: float) -> str:
            return f"{100 * microseconds / whole if whole else 0:.2f}%"

        # Of each column the title, the text of a row, and the most characters of it.
        columns: list[tuple[str, Callable[[Any], str], int]] = [
            ("Name", lambda one: one.key, max_name_column_width),
            ("Self CPU %", lambda one: share(one.self_cpu_time_total), 12),
            ("Self CPU", lambda one: shown(one.self_cpu_time_total), 12),
            ("CPU total %", lambda one: share(one.cpu_time_total), 12),
            ("CPU total", lambda one: shown(one.cpu_time_total), 12),
            ("CPU time avg", lambda one: shown(one.cpu_time), 12),
        ]
        if self._profile_memory:
            columns.append(("CPU Mem", lambda one: _memory(one.cpu_memory_usage), 12))
            columns.append(("Self CPU Mem", lambda one: _memory(one.self_cpu_memory_usage), 12))
        columns.append(("# of Calls", lambda one: str(one.count), 12))
        if any(one.overload_name for one in rows):
            columns.append(("Overload Name", lambda one: one.overload_name, max_name_column_width))
        if any(one.input_shapes for one in rows):
            columns.append(("Input Shapes", lambda one: str(one.input_shapes), max_shapes_column_width))
        if any(one.stack for one in rows):
            columns.append(("Source Location", lambda one: "; ".join(one.stack or ()), max_src_column_width))
        if self._with_flops:
            columns.append(("Total FLOPs", lambda one: str(one.flops) if one.flops else "--", 16))
        if row_limit >= 0:
            rows = rows[:row_limit]
        cells = [[title for title, _, _ in columns]]
        cells += [[_cut(text(one), width) for _, text, width in columns] for one in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
        rule = "  ".join("-" * width for width in widths)
        title = [header] if header else []
        end = f"Self CPU time total: {shown(whole)}"
        return "\n".join([*title, rule, lines[0], rule, *lines[1:], rule, end, ""])

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a trace that chrome://tracing and Perfetto read; compressed if `path` ends in ".gz"."""
        write_trace(self, path, {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a line "outer;inner value" for each stack with time of its own, for flame graphs.

        Raises:
            ValueError: another metric.
        """
        if metric not in _METRICS:
            raise ValueError(f"export_stacks: expected a metric of {_METRICS}, got {metric!r}")
        sums: dict[str, int] = {}
        for event in self:
            if event.stack and (value := int(getattr(event, metric))) > 0:
                frames = ";".join(frame.translate(str.maketrans(" ;\t\n", "____")) for frame in reversed(event.stack))
                sums[frames] = sums.get(frames, 0) + value
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{frames} {value}\n" for frames, value in sums.items())


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def write_trace(events: Iterable[FunctionEvent], path: str, facts: dict[str, Any]) -> None:
    """The events as JSON of the Trace Event Format; `facts` go beside them."""
    process = os.getpid()
    entries: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "ts": 0, "pid": process, "tid": 0, "args": {"name": "python"}}
    ]
    for event in events:
        args: dict[str, Any] = {"External id": event.id, "Record function id": 0, "Ev Idx": event.id}
        if event.input_shapes:
            args["Input Dims"] = event.input_shapes
        if event.stack:
            args["Call stack"] = ";".join(event.stack)
        if event.cpu_memory_usage:
            args["Bytes"] = event.cpu_memory_usage
        entries.append({
            "ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op", "name": event.trace_name,
            "pid": process, "tid": event.thread, "ts": event.time_range.start, "dur": event.time_range.elapsed_us(),
            "args": args,
        })  # fmt: skip
    whole = {
        "schemaVersion": 1, "deviceProperties": [], **facts, "displayTimeUnit": "ms",
        "baseTimeNanoseconds": time.time_ns() - time.perf_counter_ns(), "traceEvents": entries, "traceName": path,
    }  # fmt: skip
    if str(path).endswith(".gz"):
        import gzip

        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump(whole, file)
    else:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(whole, file)
