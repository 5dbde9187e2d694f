"""Comparing tensors, numbers and containers of them, with a message that says where they differ and by how much."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy

from .. import _core
from .._core import Tensor
from .._numeric import array_of, promote_types

Array = numpy.ndarray[Any, Any]

# relative and absolute, by the less precise dtype of the two
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


@dataclass(frozen=True, slots=True)
class _Rules:
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_dtype: bool
    check_stride: bool

    def tolerances(self, *kinds: str) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(relative for relative, _ in pairs), max(absolute for _, absolute in pairs)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise an AssertionError unless `actual` is close to `expected`: |actual - expected| <= atol + rtol * |expected|.

    Args:
        actual, expected: tensors, arrays, numbers, or sequences and mappings of them.
        allow_subclasses: whether one may be of a subclass of the other's class.
        rtol, atol: both or neither; by default 1.3e-6 and 1e-5 for float32, 1e-7 for float64
            (complex dtypes as their parts), 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, 0 for integers.
        equal_nan: whether NaN equals NaN.
        check_device, check_layout: there is one of each.
        check_dtype, check_stride: whether these must agree.
        msg: the message, or a function that makes it from the default one.

    Raises:
        AssertionError: they are not close, or differ in shape, dtype or structure.
        ValueError: only one of the tolerances is given.
        TypeError: inputs that cannot be compared.

    Example:
        >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-6]))
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    rules = _Rules(rtol, atol, equal_nan, check_dtype, check_stride)
    if not allow_subclasses and type(actual) is not type(expected):
        raise TypeError(
            f"assert_close: expected inputs of one class, got {type(actual).__name__} and {type(expected).__name__}"
        )
    difference = _difference(actual, expected, rules, "")
    if difference is None:
        return
    raise AssertionError(difference if msg is None else msg(difference) if callable(msg) else msg)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older `assert_close`, which turns what it is given into tensors and does not compare dtypes.

    Raises:
        AssertionError: they are not close.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.testing.assert_allclose(torch.tensor([1.0]), [1.0])
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12; use `torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    actual = actual if isinstance(actual, Tensor) else _core.tensor(actual)
    expected = expected if isinstance(expected, Tensor) else _core.tensor(expected, dtype=actual.dtype)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def _difference(actual: Any, expected: Any, rules: _Rules, where: str) -> str | None:
    """What is different, or None."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        return _of_mappings(actual, expected, rules, where)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}" + _at(where)
        for index, (one, other) in enumerate(zip(actual, expected, strict=True)):
            if found := _difference(one, other, rules, f"{where}[{index}]"):
                return found
        return None
    found = _of_leaves(actual, expected, rules)
    return found + _at(where) if found else None


def _at(where: str) -> str:
    return f"\n\nThe failure occurred for item {where}" if where else ""


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _of_mappings(actual: Mapping[Any, Any], expected: Mapping[Any, Any], rules: _Rules, where: str) -> str | None:
    missing = [key for key in expected if key not in actual]
    additional = [key for key in actual if key not in expected]
    if missing or additional:
        return (
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}"
        ) + _at(where)
    for key in expected:
        if found := _difference(actual[key], expected[key], rules, f"{where}[{key!r}]"):
            return found
    return None


def _of_leaves(actual: Any, expected: Any, rules: _Rules) -> str | None:
    both = (actual, expected)
    if all(value is None for value in both):
        return None
    if any(value is None for value in both):
        return f"None mismatch: {actual!r} is not {expected!r}"
    if all(isinstance(value, bool | numpy.bool_) for value in both):
        return None if actual == expected else f"Booleans mismatch: {actual} is not {expected}"
    if all(isinstance(value, Tensor) for value in both):
        return _of_tensors(actual, expected, rules)
    if all(isinstance(value, numpy.ndarray) for value in both):
        return _of_arrays(actual, expected, rules, (str(actual.dtype), str(expected.dtype)))
    if all(isinstance(value, Number) for value in both):
        kind = type(actual), type(expected)
        if rules.check_dtype and kind[0] is not kind[1]:
            return f"The (d)types do not match: {kind[0]} != {kind[1]}."
        named = {float: "float64", complex: "complex128"}
        names = tuple(next((named[base] for base in named if issubclass(one, base)), "int64") for one in kind)
        return _of_arrays(numpy.asarray(actual), numpy.asarray(expected), rules, names)
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _of_tensors(actual: Tensor, expected: Tensor, rules: _Rules) -> str | None:
    if actual.shape != expected.shape:
        return f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}."
    if rules.check_dtype and actual.dtype != expected.dtype:
        return f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}."
    if rules.check_stride and actual.stride() != expected.stride():
        return f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}."
    kinds = tuple(_core.dtype_name(one.dtype) for one in (actual, expected))
    common = promote_types(actual.dtype, expected.dtype)
    arrays = [array_of(one.to(common)) for one in (actual, expected)]
    return _of_arrays(arrays[0], arrays[1], rules, kinds)


def _of_arrays(actual: Array, expected: Array, rules: _Rules, kinds: tuple[str, ...]) -> str | None:
    if actual.shape != expected.shape:
        return f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}."
    relative, absolute = rules.tolerances(*kinds)
    close = numpy.isclose(actual, expected, rtol=relative, atol=absolute, equal_nan=rules.equal_nan)
    if close.all():
        return None
    if actual.dtype.kind in "bui":
        actual, expected = actual.astype(numpy.int64), expected.astype(numpy.int64)
    with numpy.errstate(all="ignore"):
        differences = numpy.abs(actual - expected)
        # Where the elements are close they are not what is wrong.
        differences = numpy.where(close, numpy.zeros_like(differences), differences)
        ratios = numpy.where(close, 0, differences / numpy.abs(expected))
    exact = relative == absolute == 0
    if actual.ndim == 0:
        return _scalars_text(actual, expected, differences, ratios, relative, absolute, exact)
    count = actual.size - int(close.sum())
    text = f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
    text += f"Mismatched elements: {count} / {actual.size} ({count / actual.size:.1%})\n"
    for name, values, allowed in (("absolute", differences, absolute), ("relative", ratios, relative)):
        place = numpy.unravel_index(int(numpy.argmax(values)), values.shape)
        text += f"Greatest {name} difference: {values[place].item()} at index {tuple(int(i) for i in place)}"
        text += "\n" if exact else f" (up to {allowed} allowed)\n"
    return text.rstrip()


def _scalars_text(
    actual: Array, expected: Array, difference: Array, ratio: Array, relative: float, absolute: float, exact: bool
) -> str:
    ends = ("", "") if exact else (f" (up to {absolute} allowed)", f" (up to {relative} allowed)")
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected.item()} but got {actual.item()}.\n"
        f"Absolute difference: {difference.item()}{ends[0]}\nRelative difference: {ratio.item()}{ends[1]}"
    )
