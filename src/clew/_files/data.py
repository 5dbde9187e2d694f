"""Between the plain data that the core gives and JSON, which has no tensors, bytes, dtypes or infinities."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .tensors import TensorReader, TensorWriter, dtype_of

# What a file that is not in order may lead to while it is read.
WRONG = (
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    MemoryError,
)


def mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """The same lists and dicts, with other things in them."""
    if isinstance(value, (list, tuple)):
        return [mapped(one, leaf) for one in value]
    if isinstance(value, dict):
        found = leaf(value)
        return {key: mapped(one, leaf) for key, one in value.items()} if found is value else found
    return leaf(value)


def to_json(value: Any, writer: TensorWriter) -> Any:
    """What stands for it in JSON."""
    if isinstance(value, Tensor):
        return {"tensor": writer.number(value)}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, float):
        return {"float": value.hex()} if value - value != 0 else value
    if isinstance(value, _core.dtype):
        return {"dtype": _core.dtype_name(value)}
    return value


def from_json(value: Any, reader: TensorReader) -> Any:
    """What `to_json` wrote."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    [(kind, what)] = value.items()
    if kind == "tensor":
        return reader.tensor(what)
    if kind == "bytes":
        return base64.b64decode(what, validate=True)
    if kind == "complex":
        return complex(float.fromhex(what[0]), float.fromhex(what[1]))
    if kind == "float":
        return float.fromhex(what)
    if kind == "dtype":
        return dtype_of(what)
    return value
