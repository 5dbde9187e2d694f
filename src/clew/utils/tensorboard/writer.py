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
from . import images, summary
from .embedding import Projector
from .file_writer import FileWriter
from .graph import graph
from .hparams import hparams


def _default_bins() -> list[float]:
    """Limits that grow by a tenth from 1e-12 to 1e20 on both sides of 0."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [-one for one in reversed(limits)] + [0] + limits


class SummaryWriter:
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
        self.default_bins = _default_bins()
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

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add a histogram of the values.

        Args:
            values: a tensor or array of any shape.
            bins: "tensorflow" for limits that grow by a tenth, or what `numpy.histogram` takes.
            max_bins: with more bins than these, neighbours are merged.

        Raises:
            ValueError: no values.
        """
        limits = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, limits, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Sequence[Any],
        bucket_counts: Sequence[Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a histogram that was counted elsewhere: the values' moments, each bucket's upper limit and count.

        Raises:
            ValueError: not as many counts as limits.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"add_histogram_raw: expected a count for each of {len(bucket_limits)} limits, got {len(bucket_counts)}"
            )
        found = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(found, global_step, walltime)

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

    # ------------------------------------------------------------------------------------------------ images and sound
    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image: bytes, or numbers from 0 to 1.

        Args:
            dataformats: what the axes are: "CHW", "HWC", "HW" and so on.
        """
        self._add(images.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add several images as one grid, with eight in a row."""
        self._add(images.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
        """Add an image with rectangles.

        Args:
            box_tensor: a row (left, top, right, bottom) in pixels for each.
            rescale: by what to enlarge the image.
            labels: a text for each; left out if there are not as many as boxes.
        """
        names = [labels] if isinstance(labels, str) else labels
        if names is not None and len(names) != len(box_tensor):
            names = None
        found = images.image_with_boxes(tag, img_tensor, box_tensor, dataformats, rescale, names)
        self._add(found, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Add a figure of matplotlib's, or a list of them as a grid.

        Args:
            close: close the figure afterwards.
        """
        pixels = images.figure_pixels(figure, close)
        self._add(images.image(tag, pixels, "NHWC"[4 - pixels.ndim :]), global_step, walltime)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """Add a video of shape (batch, time, channels, height, width) as an animated GIF.

        Args:
            fps: frames a second.
        """
        self._add(images.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add sound: samples between -1 and 1.

        Args:
            sample_rate: samples a second.
        """
        self._add(images.audio(tag, snd_tensor, sample_rate), global_step, walltime)

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

    # ------------------------------------------------------------------------------------------------ points and curves
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

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add precision and recall of predictions (probabilities) of labels (0 or 1).

        Args:
            num_thresholds: how many points the curve has, at most 127.
            weights: how much each prediction counts.
        """
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a precision-recall curve that was counted elsewhere: vectors with a number for each threshold."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        found = summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds)
        self._add(found, global_step, walltime)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Have these scalars shown in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Have a scalar shown with its margin: the tags of the value, the lower and the upper limit."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Say which scalars share a chart: `{category: {title: ["Multiline", tags]}}`. Only the last layout counts."""
        self._add(summary.custom_scalars(layout))

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a cloud of points or a mesh.

        Args:
            vertices: shape (batch, points, 3).
            colors: of the same shape, from 0 to 255.
            faces: shape (batch, triangles, 3), the numbers of their points.
            config_dict: settings of the camera, the light and the material, as three.js has them.
        """
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

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
