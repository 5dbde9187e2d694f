"""Tensors in files: what memory they look at, how, and which are the `.grad` of which."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from .container import Entry

_SAFETENSORS = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}


class TensorWriter:
    """Numbers tensors, and gathers the memory that they look at. Tensors that share memory will share it again."""

    def __init__(self) -> None:
        self.tensors: list[dict[str, Any]] = []
        self.entries: list[Entry] = []
        self._numbers: dict[int, int] = {}  # by id
        self._memories: dict[int, str] = {}  # by place
        self._counters: dict[int, int] = {}  # by place: the first tensor that has it
        self._alive: list[Tensor] = []

    def number(self, tensor: Tensor, name: str | None = None) -> int:
        """Which of the file's tensors it is; the entry with its memory may be called by the name."""
        known = self._numbers.get(id(tensor))
        if known is not None:
            return known
        number = self._numbers[id(tensor)] = len(self.tensors)
        self._alive.append(tensor)
        (shape, stride, offset, dtype), is_number, counter = _core.geometry_of(tensor)
        record: dict[str, Any] = {
            "memory": self._memory(tensor, name),
            "shape": shape,
            "stride": stride,
            "offset": offset,
            "dtype": _core.dtype_name(dtype),
            "is_number": is_number,
            "counter": self._counters.setdefault(counter, number) if counter else None,
            "requires_grad": tensor.is_leaf and tensor.requires_grad,
            "grad": None,
        }
        self.tensors.append(record)
        if tensor.is_leaf and tensor.grad is not None:
            record["grad"] = self.number(tensor.grad, None if name is None else f"{name}.grad")
        return number

    def _memory(self, tensor: Tensor, name: str | None) -> str:
        place = _core.memory_place(tensor)
        if place not in self._memories:
            bytes_of = _core.whole_memory(tensor)
            (shape, _, offset, dtype), _, _ = _core.geometry_of(tensor)
            kind = _SAFETENSORS.get(_core.dtype_name(dtype))
            if not (kind and tensor.is_contiguous() and offset == 0 and _size(shape, dtype) == bytes_of.numel()):
                kind, shape = "U8", (bytes_of.numel(),)
            if name is None or name == "__metadata__" or any(one.name == name for one in self.entries):
                name = f"memory.{len(self._memories)}"
            self._memories[place] = name
            self._alive.append(bytes_of)
            self.entries.append(Entry(name, kind, shape, bytes_of.numpy().data))
        return self._memories[place]


class TensorReader:
    """Makes the tensors that a `TensorWriter` has numbered."""

    def __init__(self, records: list[dict[str, Any]], memories: dict[str, memoryview]) -> None:
        self._records = records
        self._data = memories
        self._memories: dict[str, Tensor] = {}
        self._made: dict[int, Tensor] = {}

    def tensor(self, number: Any) -> Tensor:
        """The one of that number, made when it is first asked for."""
        if type(number) is not int or not 0 <= number < len(self._records):
            raise ValueError(f"expected the number of a tensor, got {number!r:.40}")
        if number not in self._made:
            one = self._records[number]
            geometry = (one["shape"], one["stride"], one["offset"], dtype_of(one["dtype"]))
            made = self._made[number] = _core.tensor_on(self._memory(one["memory"]), geometry, one["is_number"])
            if one["counter"] is not None:
                _core.count_as(made, None if one["counter"] == number else self._counting(one["counter"]))
            if one["requires_grad"]:
                made.requires_grad_()
            if one["grad"] is not None:
                made.grad = self._grad(one["grad"])
        return self._made[number]

    def _counting(self, number: Any) -> Tensor:
        if self._records[number]["counter"] != number:
            raise ValueError("expected a tensor with a version counter of its own")
        return self.tensor(number)

    def _grad(self, number: Any) -> Tensor:
        if self._records[number]["grad"] is not None:
            raise ValueError("expected a .grad without one of its own")
        return self.tensor(number)

    def _memory(self, name: str) -> Tensor:
        if name not in self._memories:
            from .. import empty, uint8

            data = self._data[name]
            made = self._memories[name] = empty(len(data), dtype=uint8)
            made.numpy().data[:] = data
        return self._memories[name]


def _size(shape: tuple[int, ...], dtype: Any) -> int:
    return math.prod(shape) * int(dtype.itemsize)


def dtype_of(name: Any) -> Any:
    """The dtype of that name."""
    found = _core._dtype_by_name(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"expected a dtype, got {name!r:.40}")
    return found
