"""Helpers for parameters and their gradients, and for sequences of different lengths."""

import importlib
from typing import TYPE_CHECKING, Any

from ..._unsupported import missing_from
from . import rnn
from .clip_grad import clip_grad_norm_, clip_grad_value_, get_total_norm
from .convert import parameters_to_vector, vector_to_parameters

if TYPE_CHECKING:
    from . import parametrizations, parametrize, stateless
    from .old_norms import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]

# These are made of modules, which themselves need what is above: loaded when they are first asked for.
_LATER = ("parametrizations", "parametrize", "prune", "stateless")
_OLD_NORMS = ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm")
_missing = missing_from(__name__)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f".{name}", __name__)
    if name in _OLD_NORMS:
        return getattr(importlib.import_module(".old_norms", __name__), name)
    return _missing(name)
