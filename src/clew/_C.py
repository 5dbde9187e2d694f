"""What libraries ask of `torch._C`: whether a trace is being recorded, which is never so, and a counter of API use."""

from __future__ import annotations

__all__: list[str] = []


def _get_tracing_state() -> None:
    """None: nothing is traced by `torch.jit`.

    Example:
        >>> torch._C._get_tracing_state() is None
        True
    """


def _log_api_usage_once(event: str) -> None:
    """Nothing: no use is counted."""
