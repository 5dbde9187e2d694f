"""The writer that programs use: a method for each thing that TensorBoard shows."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog

from ..._core import Tensor
from ..._unsupported import unsupported
from . import summary
from .charts import ChartWriter
from .embedding import Projector
from .file_writer import FileWriter
from .graph import graph
from .hparams import hparams
from .media import MediaWriter


class SummaryWriter(MediaWriter, ChartWriter):
    """Writes what TensorBoard shows: `tensorboard --logdir runs`.

    Args:
        log_dir: where to. The default is `runs/<date>_<time>_<host><comment>`.
        comment: the end of that default name.
        purge_step: a program that starts again at this step has what was written for it and later ones hidden.
        max_queue: how many events may wait to be written before adding one waits.
        flush_secs: after so many seconds files are flushed.
        filename_suffix: what names of event files end with.

    Every method takes `global_step`, and `walltime` in seconds for the time now.

    Example:
        >>> import tempfile
        >>> with clew.utils.tensorboard.SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("loss", 1 / (step + 1), step)
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = str(Path("runs") / f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._projector: Projector | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The writer of the main file, which is made anew after `close`."""
        if self.file_writer is None or self.all_writers is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                start = SessionLog(status=SessionLog.START)
                self.file_writer.add_event(Event(step=self.purge_step, session_log=start))
                self.purge_step = None
        return self.file_writer

    def _open(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _add(self, found: Any, global_step: Any = None, walltime: float | None = None) -> None:
        self._get_file_writer().add_summary(found, global_step, walltime)

    def get_logdir(self) -> Any:
        """Where events are written."""
        return self.log_dir

    # ---------------------------------------------------------------------------------------------- numbers and texts
    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add one number.

        Args:
            tag: its name; slashes make groups.
            scalar_value: a number, or a tensor or array of one element.
            new_style: write it as a tensor, which TensorBoard loads faster.
            double_precision: with `new_style`, as float64.

        Raises:
            AssertionError: several elements.
        """
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add several numbers that are shown in one chart, each in a run (a directory) of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            name = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if name not in self.all_writers:
                self.all_writers[name] = self._open(name)
            self.all_writers[name].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Tensor, global_step: Any = None, walltime: float | None = None) -> None:
        """Add all elements of a tensor, which programs can read back.

        Raises:
            ValueError: 2 GiB or more, or a dtype that event files do not have.
        """
        self._add(summary.tensor(tag, tensor), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a text, which is shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Add a set of hyperparameters and the metrics that they led to, as a run of their own.

        Args:
            hparam_dict: values that are numbers, strings, bools or tensors.
            metric_dict: numbers by the tags of scalars; they are written as scalars, too.
            hparam_domain_discrete: all values that a hyperparameter may have.
            run_name: the name of the run; the time if none is given.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            kinds = f"{type(hparam_dict).__name__} and {type(metric_dict).__name__}"
            raise TypeError(f"add_hparams: expected hparam_dict and metric_dict to be dicts, got {kinds}")
        found = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = Path(self._get_file_writer().get_logdir()) / (run_name or str(time.time()))
        with SummaryWriter(str(folder)) as run:
            for one in found:
                run._add(one, global_step)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    # --------------------------------------------------------------------------------------------------------- graphs
    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Add the graph of a model: the operations that its forward records, in the scopes of its modules.

        Args:
            model: it is called once, in evaluation mode.
            input_to_model: a tensor, or a tuple of arguments.
            verbose: print the graph.
            use_strict_trace: nothing is traced, so it makes no difference.
        """
        drawn = graph(model, input_to_model)
        if verbose:
            print(drawn[0])
        self._get_file_writer().add_graph(drawn)

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Not supported: ONNX is not read."""
        raise unsupported("utils.tensorboard.SummaryWriter.add_onnx_graph")

    # ---------------------------------------------------------------------------------------------------------- points
    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Add points in many dimensions, for the projector.

        Args:
            mat: shape (points, dimensions).
            metadata: a label for each point, or a list of them.
            label_img: a picture for each, shape (points, channels, height, width).
            metadata_header: what the labels of a point are called, if each has several.
        """
        if self._projector is None:
            self._projector = Projector(self._get_file_writer().get_logdir())
        self._projector.add(mat, metadata, label_img, int(global_step or 0), tag, metadata_header)

    # --------------------------------------------------------------------------------------------------------- closing
    def flush(self) -> None:
        """Write what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close the files. What is added later goes into a new one."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
