"""How a tensor prints: as in PyTorch, to the character.

Note [Layout of a printed tensor]
All elements have one width and one form, chosen from the values that are shown: whole floats print as `1.`, others with
`precision` digits; floats that span too much print in scientific form. A tensor of more than `threshold` elements shows
the first and last `edgeitems` along each axis. After the elements come, as far as needed, size, dtype and history.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

from . import _core
from ._core import Tensor

_Nested = Any  # a number, or a list of _Nested
_GAP = object()  # stands where elements are left out


@dataclass(slots=True)
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()
_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print; what is not given stays, except `sci_mode`, where None means: decide by the values.

    Args:
        precision: digits after the point (4).
        threshold: with more elements than this (1000), only edges are shown.
        edgeitems: how many of them on each side of an axis (3).
        linewidth: characters in a line (80).
        profile: "default", "short" or "full", a set of the above.
        sci_mode: scientific form always, never, or by the values.

    >>> import clew
    >>> clew.set_printoptions(precision=2)
    >>> clew.tensor([1 / 3])
    tensor([0.33])
    >>> clew.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"set_printoptions: expected profile to be one of {sorted(_PROFILES)}, got {profile!r}")
        chosen = _PROFILES[profile]
        _options.precision, _options.threshold = chosen.precision, chosen.threshold
        _options.edgeitems, _options.linewidth = chosen.edgeitems, chosen.linewidth
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(_options, name, value)
    _options.sci_mode = sci_mode


class _Format:
    """The one form in which the elements that are shown print."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating = floating
        self.whole = True
        self.scientific = False
        self.width = 1
        if not floating:
            self.width = max((len(str(value)) for value in values), default=1)
            return
        counted = [value for value in values if value != 0 and math.isfinite(value)]
        if counted:
            self._choose(counted)

    def _choose(self, values: list[float]) -> None:
        magnitudes = [abs(value) for value in values]
        smallest, largest = min(magnitudes), max(magnitudes)
        self.whole = all(value == math.ceil(value) for value in values)
        too_wide = largest / smallest > 1000.0 or largest > 1.0e8
        by_values = too_wide or (not self.whole and smallest < 1.0e-4)
        self.scientific = by_values if _options.sci_mode is None else _options.sci_mode
        self.width = max(1, *(len(self.bare(value)) for value in values))

    def bare(self, value: Any) -> str:
        """The element without padding."""
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{_options.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{_options.precision}f}"

    def padded(self, value: Any) -> str:
        """The element, right-aligned."""
        return self.bare(value).rjust(self.width)


def _shown(array: Any, summarize: bool) -> _Nested:
    """Nested lists of the elements that are shown, with gaps where some are left out."""
    if array.ndim == 0:
        return array.item()
    edge = _options.edgeitems
    if not summarize or len(array) <= 2 * edge:
        return [_shown(row, summarize) for row in array] if array.ndim > 1 else array.tolist()
    first, last = array[:edge], array[len(array) - edge :]
    return [*_shown(first, False), _GAP, *_shown(last, False)] if array.ndim == 1 else _edges(first, last)


def _edges(first: Any, last: Any) -> _Nested:
    return [*(_shown(row, True) for row in first), _GAP, *(_shown(row, True) for row in last)]


def _elements(nested: _Nested) -> list[Any]:
    if not isinstance(nested, list):
        return [] if nested is _GAP else [nested]
    return [element for part in nested for element in _elements(part)]


def _row(values: list[Any], indent: int, form: _Format) -> str:
    per_line = max(1, math.floor((_options.linewidth - indent) / (form.width + 2)))
    texts = [" ..." if value is _GAP else form.padded(value) for value in values]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _layout(nested: _Nested, ndim: int, indent: int, form: _Format) -> str:
    if ndim == 0:
        return form.padded(nested)
    if ndim == 1:
        return _row(nested, indent, form)
    parts = ["..." if part is _GAP else _layout(part, ndim - 1, indent + 1, form) for part in nested]
    return "[" + ("," + "\n" * (ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _contents(tensor: Tensor, indent: int) -> str:
    # NumPy's view of the memory: slices of it are cheap, and no operation of ours runs.
    array = tensor.detach().numpy()
    nested = _shown(array, tensor.numel() > _options.threshold)
    form = _Format(_elements(nested), tensor.dtype.is_floating_point)
    return _layout(nested, tensor.ndim, indent, form)


def _suffixes(tensor: Tensor) -> list[str]:
    kind = str(tensor.dtype)
    default = tensor.dtype is _core.get_default_dtype()
    found = []
    if tensor.numel() == 0:
        if tensor.ndim != 1:
            found.append(f"size={tuple(tensor.shape)}")
        if not default:
            found.append(f"dtype={kind}")
    elif not default and kind not in ("torch.int64", "torch.bool"):
        found.append(f"dtype={kind}")
    node = tensor.grad_fn
    if node is not None:
        found.append(f"grad_fn=<{node.name()}>")
    elif tensor.requires_grad:
        found.append("requires_grad=True")
    return found


def _is_plain(tensor: Tensor) -> bool:
    if type(tensor) is Tensor:
        return True
    module = sys.modules.get("clew.nn.parameter")
    return module is not None and type(tensor) is module.Parameter


def tensor_repr(tensor: Tensor) -> str:
    """The text of a tensor; of objects of subclasses with the name of their class.

    >>> import clew
    >>> clew.arange(3.0)
    tensor([0., 1., 2.])
    """
    prefix = "tensor(" if _is_plain(tensor) else f"{type(tensor).__name__}("
    indent = len(prefix)
    text = prefix + ("[]" if tensor.numel() == 0 else _contents(tensor, indent))
    # A suffix that would pass the end of the line begins a new one.
    length = len(text) - text.rfind("\n") + 1
    for suffix in _suffixes(tensor):
        if length + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"
