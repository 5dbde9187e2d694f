"""Automatic differentiation: gradients by running a graph backward, custom operations, modes, hooks, checks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import _core
from .._unsupported import missing_from
from . import errors, graph
from .anomaly_mode import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .gradients import backward, grad
from .handles import register_node_hook, register_node_prehook
from .variable import Variable

if TYPE_CHECKING:
    from . import forward_ad, functional, profiler

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "errors",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "kineto_available",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]

_core.add_node_method("register_hook", register_node_hook)
_core.add_node_method("register_prehook", register_node_prehook)


def _is_checkpoint_valid() -> bool:
    """Whether the backward that is under way accumulates into all leaves, as reentrant checkpoints need."""
    return bool(_core.backward_accumulates())


def kineto_available() -> bool:
    """Whether `torch.profiler.profile` works: True, by clew's own means.

    Example:
        >>> torch.autograd.kineto_available()
        True
    """
    return True


_missing = missing_from(__name__)


def __getattr__(name: str) -> Any:
    if name in ("forward_ad", "functional", "profiler", "profiler_util"):
        return import_module(f"{__name__}.{name}")
    return _missing(name)
