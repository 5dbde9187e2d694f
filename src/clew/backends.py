"""Which of PyTorch's backends there are (none but the CPU), with switches that scripts set, to no effect."""

from __future__ import annotations

from ._unsupported import missing_from

__path__: list[str] = []  # so that `torch.backends.cudnn` is imported
__getattr__ = missing_from(__name__)
