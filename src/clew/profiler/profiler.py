"""`torch.profiler.profile`: which steps are recorded, and what is done with each recording."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from ..autograd import kineto_available as kineto_available
from . import recording
from .events import EventList
from .recording import record_function

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities"]


class ProfilerActivity(Enum):
    """Where what is recorded happens. Only the CPU has anything to record."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What is done with a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded: those of the CPU.

    Example:
        >>> [one.name for one in torch.profiler.supported_activities()]
        ['CPU']
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """For each step what is done: first `skip_first` steps nothing, then cycles of `wait`, `warmup` and `active` ones.

    Args:
        repeat: how many cycles; 0 for no end.
        skip_first_wait: not 0: the first cycle does not wait.

    Raises:
        ValueError: a count is negative, or `active` is 0.

    Example:
        >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError(
            "schedule: expected wait, warmup, repeat and skip_first of at least 0, and active of at least 1, "
            f"got {wait}, {warmup}, {repeat}, {skip_first} and {active}"
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def plan(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError(f"schedule: expected a step of at least 0, got {step}")
        place = step - skip_first + (wait if skip_first_wait else 0)
        if step < skip_first or (repeat > 0 and place >= repeat * cycle):
            return ProfilerAction.NONE
        place %= cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return plan


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """For `on_trace_ready`: writes each recording as a file in the folder `dir_name`, which it makes.

    Args:
        dir_name: the folder.
        worker_name: the beginning of the file's name; by default from the host and the process.
        use_gzip: compress the files.
    """

    def handle(prof: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".gz" if use_gzip else ""
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json{end}"))

    return handle


class profile:
    """Record operations, all the time or in the steps that `schedule` chooses.

    What is recorded, and the other arguments, are those of `torch.autograd.profiler.profile`. Operations of this
    thread are recorded, those of a compiled function one by one, as it runs eagerly meanwhile. PyTorch's names of
    operations are used ("aten::addmm") where the operation is PyTorch's.

    Args:
        activities: activities other than the CPU's are left out, with a warning.
        schedule: a function from a step's number to a `ProfilerAction`; steps end where `step()` is called.
        on_trace_ready: called with the profile when a recording has ended.

    Example:
        >>> plan = torch.profiler.schedule(wait=0, warmup=1, active=1)
        >>> with torch.profiler.profile(schedule=plan, on_trace_ready=lambda prof: print(prof.step_num)) as prof:
        ...     for _ in range(4):
        ...         _ = torch.ones(2) + 1
        ...         prof.step()
        2
        4
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None, on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
        with_modules: bool = False, experimental_config: Any = None, execution_trace_observer: Any = None,
        acc_events: bool = False, use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None, post_processing_timeout_s: float | None = None,
    ) -> None:  # fmt: skip
        if execution_trace_observer is not None:
            raise NotImplementedError(
                "profile: expected no execution_trace_observer, got one; use export_chrome_trace or clew.keep_graph"
            )
        self.activities = set(activities) if activities else supported_activities()
        others = sorted(one.name for one in self.activities - supported_activities())
        if others or use_cuda:
            names = ", ".join(others or ["CUDA"])
            warnings.warn(f"{names} is not available, disabling {names} profiling", stacklevel=2)
        self._options: dict[str, Any] = {
            "record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
            "with_flops": with_flops, "with_modules": with_modules,
        }  # fmt: skip
        vars(self).update(self._options)
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: recording.profile | None = None
        self._records_steps = schedule is not None
        self._step: record_function | None = None
        self._metadata: dict[str, Any] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        if self.current_action in _RECORDING:
            self.start_trace()
        self._begin_step()

    def stop(self) -> None:
        """End; a recording that is under way is handed to `on_trace_ready`."""
        self._end_step()
        self._end_recording()

    def step(self) -> None:
        """The next step begins."""
        self._end_step()
        last, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if last is ProfilerAction.RECORD and self.current_action not in _RECORDING:
            warnings.warn(f"Incorrect schedule: RECORD followed by {self.current_action.name}", stacklevel=2)
            self.stop_trace()
        elif last is ProfilerAction.RECORD_AND_SAVE:
            self._end_recording()
        if self.current_action in _RECORDING and not self._is_recording:
            self.start_trace()
        self._begin_step()

    def start_trace(self) -> None:
        """Begin a recording, whatever the schedule is."""
        self.profiler = recording.profile(**self._options).__enter__()

    def stop_trace(self) -> None:
        """End the recording."""
        self._ended().__exit__(None, None, None)

    @property
    def _is_recording(self) -> bool:
        return self.profiler is not None and self.profiler.function_events is None

    def _end_recording(self) -> None:
        if self._is_recording:
            self.stop_trace()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def _begin_step(self) -> None:
        if self._records_steps:
            self._step = record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__()
            self._step = None

    def _ended(self) -> recording.profile:
        if self.profiler is None:
            raise RuntimeError("profile: expected a recording, got none so far; start it, or look at the schedule")
        return self.profiler

    def events(self) -> EventList:
        """All events of the last recording, in the order in which they began."""
        return self._ended()._finished()

    def key_averages(self, *args: Any, **kwargs: Any) -> EventList:
        """Sums over events of one key: see `EventList.key_averages`, with `group_by_input_shape`."""
        return self._ended().key_averages(*args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Write the last recording for chrome://tracing and Perfetto; compressed if `path` ends in ".gz"."""
        self._ended().metadata = {"host_name": socket.gethostname(), **self._metadata}
        self._ended().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write a line for each stack, for flame graphs; needs `with_stack=True`."""
        self._ended().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Raises: `clew.memory.timeline()` has what this would write."""
        raise NotImplementedError("export_memory_timeline: expected another way, got PyTorch's; use memory.timeline()")

    def add_metadata(self, key: str, value: str) -> None:
        """Write a text into the traces under this key."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Write a value, given as JSON, into the traces under this key."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json
