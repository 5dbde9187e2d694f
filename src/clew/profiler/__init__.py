"""Profiles of operations: `profile`, with a schedule of steps; `record_function`; traces for TensorBoard and Perfetto.

Example:
    >>> model = torch.nn.Linear(3, 4)
    >>> with torch.profiler.profile() as prof:
    ...     with torch.profiler.record_function("forward"):
    ...         _ = model(torch.ones(2, 3))
    >>> [(one.key, one.count) for one in prof.key_averages() if one.key in ("forward", "aten::addmm")]
    [('forward', 1), ('aten::addmm', 1)]
"""

from __future__ import annotations

from .._unsupported import missing_from as _missing_from
from ..autograd import kineto_available as kineto_available
from .profiler import ProfilerAction as ProfilerAction
from .profiler import ProfilerActivity as ProfilerActivity
from .profiler import profile as profile
from .profiler import schedule as schedule
from .profiler import supported_activities as supported_activities
from .profiler import tensorboard_trace_handler as tensorboard_trace_handler
from .recording import record_function as record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

__getattr__ = _missing_from(__name__)
