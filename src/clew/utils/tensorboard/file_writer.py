"""The writer of one event file."""

from __future__ import annotations

import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, TaggedRunMetadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter


class FileWriter:
    """Writes events into one file of a directory, in a thread of its own.

    Args:
        log_dir: the directory; it is made.
        max_queue: how many events may wait to be written before adding one waits.
        flush_secs: after so many seconds the file is flushed.
        filename_suffix: what the file's name ends with.

    Example:
        >>> import tempfile
        >>> writer = clew.utils.tensorboard.FileWriter(tempfile.mkdtemp())
        >>> writer.close()
    """

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The directory."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event with this step, and the time now if none is given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a summary as an event."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Write a graph, and what is known of its run: a `GraphDef` and a `RunMetadata`."""
        drawn, run = (one.SerializeToString() for one in graph_profile)
        self.add_event(Event(graph_def=drawn), None, walltime)
        self.add_event(Event(tagged_run_metadata=TaggedRunMetadata(tag="step1", run_metadata=run)), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a `GraphDef`."""
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file. What is added later reopens it."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Open the file again."""
        self.event_writer.reopen()
