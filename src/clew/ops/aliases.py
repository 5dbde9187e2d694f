"""Second names of operations, as NumPy and PyTorch spell them. In place, too, where the operation is."""

from __future__ import annotations

from typing import Any

from .. import _core

_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "true_divide": "div",
}

_ops: Any = _core.ops

for _alias, _name in list(_ALIASES.items()):
    if hasattr(_ops, _name + "_"):
        _ALIASES[_alias + "_"] = _name + "_"
globals().update({_alias: getattr(_ops, _name) for _alias, _name in _ALIASES.items()})

__all__ = [_alias for _alias, _name in _ALIASES.items() if not _name.endswith("_") or _name in _core.functions]
METHODS = list(_ALIASES)
