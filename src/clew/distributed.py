"""`torch.distributed` of a single process: it is not available, and says so when asked."""

from __future__ import annotations

from ._unsupported import missing_from

__all__ = [
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
]


def is_available() -> bool:
    """False."""
    return False


is_initialized = is_mpi_available = is_nccl_available = is_gloo_available = is_available
is_ucc_available = is_xccl_available = is_torchelastic_launched = is_available

__getattr__ = missing_from(__name__)
