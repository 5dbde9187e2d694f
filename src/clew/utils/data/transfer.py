"""Batches from one process to another, through memory that both see.

Tensors and arrays are taken out of the pickled batch and laid side by side in an anonymous file (`memfd_create`), whose
descriptor goes through the pipe; the receiver maps it, and its tensors look at the mapping. The file has no name, so
nothing is left behind when a process is killed. Small batches go through the pipe as they are.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy

import clew
from clew import Tensor

_ALIGNMENT = 64  # bytes
_WORTH_A_FILE = 1 << 15  # bytes; a pipe takes less at once without waiting for its reader


def send(connection: Connection, message: Any) -> None:
    """Send an object that may hold tensors. It does not wait for the receiver."""
    buffers: list[memoryview] = []
    stream = io.BytesIO()
    _Pickler(stream, buffers).dump(message)
    parts = [stream.getbuffer(), *buffers]
    sizes = [part.nbytes for part in parts]
    if sum(sizes) < _WORTH_A_FILE:
        connection.send_bytes(pickle.dumps([part.tobytes() for part in parts]))
        return
    file = os.memfd_create("clew-batch")
    try:
        starts = _starts(sizes)
        os.ftruncate(file, starts[-1])
        with mmap.mmap(file, starts[-1]) as memory, memoryview(memory) as target:
            for part, start, size in zip(parts, starts, sizes, strict=False):
                target[start : start + size] = part
        connection.send_bytes(pickle.dumps(tuple(sizes)))
        reduction.send_handle(connection, file, None)  # the process matters on Windows only
    finally:
        os.close(file)


def receive(connection: Connection) -> Any:
    """What the other side sent.

    Raises:
        EOFError: the other side is closed.
    """
    message = pickle.loads(connection.recv_bytes())
    if isinstance(message, list):
        parts = [memoryview(bytearray(part)) for part in message]
    else:
        file = reduction.recv_handle(connection)
        try:
            starts = _starts(message)
            memory = memoryview(mmap.mmap(file, starts[-1]))
        finally:
            os.close(file)
        parts = [memory[start : start + size] for start, size in zip(starts, message, strict=False)]
    return _Unpickler(io.BytesIO(parts[0]), parts[1:]).load()


def _starts(sizes: Any) -> list[int]:
    """Where parts of these sizes begin, and where the last ends."""
    starts = [0]
    for size in sizes:
        starts.append(-(-(starts[-1] + size) // _ALIGNMENT) * _ALIGNMENT)
    return starts


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, buffers: list[memoryview]) -> None:
        super().__init__(stream, protocol=5, buffer_callback=self._keep)
        self._buffers = buffers
        self._seen: dict[int, tuple[Tensor, Any]] = {}  # by identity; the tensor is held, so that none takes its place

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        self._buffers.append(buffer.raw())
        return False

    def persistent_id(self, value: Any) -> Any:
        """Tensors: their place among the buffers, and what else makes them."""
        if type(value) is not Tensor:
            return None
        if id(value) not in self._seen:
            self._seen[id(value)] = value, self._describe(value)
        return self._seen[id(value)][1]

    def _describe(self, value: Tensor) -> Any:
        if value.requires_grad and not value.is_leaf:
            raise RuntimeError(
                "DataLoader: expected batches without history, got a tensor with "
                f"grad_fn={value.grad_fn}; detach() it in the dataset or in collate_fn"
            )
        array: Any = value.detach().contiguous().numpy()
        self._buffers.append(memoryview(array.reshape(-1).view(numpy.uint8)))
        return len(self._buffers) - 1, array.dtype.str, array.shape, value.requires_grad


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, buffers: list[memoryview]) -> None:
        # Those of tensors are asked for by number, the others in their order.
        self._buffers, self._tensors = buffers, dict[int, Tensor]()
        super().__init__(stream, buffers=self._in_order())

    def _in_order(self) -> Any:
        for number, buffer in enumerate(self._buffers):
            if number not in self._tensors:
                yield buffer

    def persistent_load(self, identity: Any) -> Any:
        number, dtype, shape, requires_grad = identity
        if number not in self._tensors:
            array = numpy.frombuffer(self._buffers[number], dtype=dtype).reshape(shape)
            self._tensors[number] = clew.from_numpy(array).requires_grad_(requires_grad)
        return self._tensors[number]
