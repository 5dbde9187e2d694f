"""The events of profiles, under PyTorch's second name: see `clew.profiler`."""

from ..profiler.events import MEMORY_EVENT_NAME as MEMORY_EVENT_NAME
from ..profiler.events import OUT_OF_MEMORY_EVENT_NAME as OUT_OF_MEMORY_EVENT_NAME
from ..profiler.events import EventList as EventList
from ..profiler.events import FormattedTimesMixin as FormattedTimesMixin
from ..profiler.events import FunctionEvent as FunctionEvent
from ..profiler.events import FunctionEventAvg as FunctionEventAvg
from ..profiler.events import Interval as Interval
