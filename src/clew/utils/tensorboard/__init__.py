"""Event files that TensorBoard shows: scalars, histograms, images, texts, graphs, hyperparameters.

The files are written by the package `tensorboard`, which is not a dependency: `pip install 'clew[tensorboard]'`.
"""

from __future__ import annotations

try:
    from tensorboard.summary.writer.record_writer import RecordWriter
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError(
        f"utils.tensorboard: needs the package tensorboard ({_error}); pip install tensorboard", name=_error.name
    ) from _error

from .file_writer import FileWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
