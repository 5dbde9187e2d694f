"""How a tensor prints: as in PyTorch, to the character.

Note [Layout of a printed tensor]
All elements have one width and one form, chosen from the values that are shown: whole floats print as `1.`, others with
`precision` digits; floats that span too much print in scientific form. A tensor of more than `threshold` elements shows
the first and last `edgeitems` along each axis. After the elements come, as far as needed, size, dtype and history.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, SupportsFloat, SupportsIndex

from . import _core
from ._core import Tensor
from ._domains import domain
from ._numeric import array_of

_Nested = Any  # a number, or a list of _Nested
_GAP = object()  # stands where elements are left out


@dataclass(slots=True)
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: float = 80
    sci_mode: bool | None = None


_MOST_DIGITS = 1074  # after the point: no double has more
_options = _Options()
_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}


@domain("unsampled, 'it changes a setting'")
def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: float | None = None,
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

    Raises:
        TypeError: an option is no number. Nothing has changed then, nor after a ValueError.
        ValueError: a count is out of range, or the profile is not known.

    Example:
        >>> torch.set_printoptions(precision=2)
        >>> torch.tensor([1 / 3])
        tensor([0.33])
        >>> torch.set_printoptions(profile="default")
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions: expected profile to be one of {sorted(_PROFILES)}, got {profile!r}")
    chosen = _options if profile is None else _PROFILES[profile]
    made = _Options(
        _count("precision", precision, chosen.precision, _MOST_DIGITS),
        chosen.threshold if threshold is None else _number("threshold", threshold),
        _count("edgeitems", edgeitems, chosen.edgeitems, sys.maxsize // 4),
        chosen.linewidth if linewidth is None else _number("linewidth", linewidth),
        None if sci_mode is None else bool(sci_mode),
    )
    for field in fields(_Options):
        setattr(_options, field.name, getattr(made, field.name))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """A context in which tensors print with these options of `set_printoptions`."""
    before = {field.name: getattr(_options, field.name) for field in fields(_Options)}
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def _count(name: str, value: int | None, otherwise: int, most: int) -> int:
    if value is None:
        return otherwise
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"set_printoptions: expected {name} to be an int, got {type(value).__name__}") from None
    if not 0 <= count <= most:
        raise ValueError(f"set_printoptions: expected {name} to be from 0 to {most}, got {value}")
    return count


def _number(name: str, value: float) -> float:
    if not isinstance(value, SupportsFloat | SupportsIndex):
        raise TypeError(f"set_printoptions: expected {name} to be a number, got {type(value).__name__}")
    number = float(value)
    if math.isnan(number):
        raise ValueError(f"set_printoptions: expected {name} to be a number, got nan")
    return number


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


class _ComplexFormat:
    """That of complex numbers: their parts have a form each."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _Format([value.real for value in values], True)
        self.imag = _Format([value.imag for value in values], True)
        self.width = self.real.width + self.imag.width + 1

    def padded(self, value: complex) -> str:
        """The element, its real part right-aligned."""
        imag = self.imag.bare(value.imag) + "j"
        return self.real.padded(value.real) + (imag if imag[0] in "+-" else "+" + imag)


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


def _row(values: list[Any], indent: int, form: _Format | _ComplexFormat) -> str:
    per_line = math.floor(max(1.0, min((_options.linewidth - indent) / (form.width + 2), len(values))))
    texts = [" ..." if value is _GAP else form.padded(value) for value in values]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _layout(nested: _Nested, ndim: int, indent: int, form: _Format | _ComplexFormat) -> str:
    if ndim == 0:
        return form.padded(nested)
    if ndim == 1:
        return _row(nested, indent, form)
    parts = ["..." if part is _GAP else _layout(part, ndim - 1, indent + 1, form) for part in nested]
    return "[" + ("," + "\n" * (ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _contents(tensor: Tensor, indent: int) -> str:
    summarize = tensor.numel() > _options.threshold
    seen = tensor.detach()
    if summarize and 0 in seen.stride():
        # Axes that repeat one element may be longer than NumPy can count; one more than both edges is as good.
        enough = 2 * _options.edgeitems + 1
        sizes = [min(n, enough) if step == 0 else n for n, step in zip(seen.shape, seen.stride(), strict=True)]
        seen = _core.ops.as_strided(seen, sizes, seen.stride(), seen.storage_offset())
    # NumPy's view of the memory: slices of it are cheap.
    nested = _shown(array_of(seen), summarize)
    elements = _elements(nested)
    form = _ComplexFormat(elements) if tensor.is_complex() else _Format(elements, tensor.dtype.is_floating_point)
    return _layout(nested, tensor.ndim, indent, form)


def _default_complex() -> str:
    return "complex128" if _core.get_default_dtype() is _core.dtypes["float64"] else "complex64"


def _suffixes(tensor: Tensor) -> list[str]:
    kind = str(tensor.dtype)
    default = tensor.dtype is _core.get_default_dtype()
    found = []
    if tensor.is_meta:
        found += ["device='meta'", f"size={tuple(tensor.shape)}"] + ([] if default else [f"dtype={kind}"])
    elif tensor.numel() == 0:
        if tensor.ndim != 1:
            found.append(f"size={tuple(tensor.shape)}")
        if not default:
            found.append(f"dtype={kind}")
    elif not default and _core.dtype_name(tensor.dtype) not in ("int64", "bool", _default_complex()):
        found.append(f"dtype={kind}")
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view that may not be read since its base was written
        found.append("grad_fn=<Invalid>")
        return found
    if node is not None:
        found.append(f"grad_fn=<{type(node).__name__}>")
    elif tensor.requires_grad:
        found.append("requires_grad=True")
    for level in reversed(_core.dual_levels()):
        if (tangent := _core.tangent_of(level, tensor)) is not None:
            return [*found, f"tangent={tangent}"]
    return found


def _is_plain(tensor: Tensor) -> bool:
    if type(tensor) is Tensor:
        return True
    module = sys.modules.get("clew.nn.parameter")
    return module is not None and type(tensor) is module.Parameter


def tensor_repr(tensor: Tensor) -> str:
    """The text of a tensor; of objects of subclasses with the name of their class.

    Example:
        >>> torch.arange(3.0)
        tensor([0., 1., 2.])
    """
    if _core.batch_of(tensor):
        return _batched_repr(tensor)
    prefix = "tensor(" if _is_plain(tensor) else f"{type(tensor).__name__}("
    indent = len(prefix)
    text = prefix + ("..." if tensor.is_meta else "[]" if tensor.numel() == 0 else _contents(tensor, indent))
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


def _batched_repr(tensor: Tensor) -> str:
    """A sample under vmap shows all samples."""
    numbers = [number for number, _ in _core.active_batches()]
    batch = _core.batch_of(tensor)
    level = numbers.index(batch) + 1 if batch in numbers else "dead"
    value = tensor_repr(_core.batch_value(tensor)).replace("\n", "\n    ")
    return f"BatchedTensor(lvl={level}, bdim=0, value=\n    {value}\n)"
