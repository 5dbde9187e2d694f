"""`torch.onnx` without its exporter."""

from __future__ import annotations

from ._unsupported import missing_from

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False."""
    return False


__path__: list[str] = []  # so that `torch.onnx.x` is imported
__getattr__ = missing_from(__name__)
