"""Profiles without a schedule, under PyTorch's older name: see `clew.profiler`."""

from .._unsupported import missing_from as _missing_from
from ..profiler.events import EventList as EventList
from ..profiler.events import FunctionEvent as FunctionEvent
from ..profiler.events import FunctionEventAvg as FunctionEventAvg
from ..profiler.recording import emit_itt as emit_itt
from ..profiler.recording import emit_nvtx as emit_nvtx
from ..profiler.recording import load_nvprof as load_nvprof
from ..profiler.recording import profile as profile
from ..profiler.recording import record_function as record_function
from . import kineto_available as kineto_available

__all__ = ["emit_itt", "emit_nvtx", "kineto_available", "load_nvprof", "profile", "record_function"]

__getattr__ = _missing_from(__name__)
