"""What goes from the script's process to that of PyTorch: calls, and the bytes of their tensors in shared memory.

Tensors are written into one of two halves of shared memory, calls into a list that names their places there. A full
half is handed over, and the other one is filled while PyTorch works on the first.
"""

from __future__ import annotations

import mmap
import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import Any

from ... import _core
from ..._as_torch import PATH
from ..._core import Tensor

_BYTES = 4 << 20  # of a half at first; a call that needs more has it made larger
_MOST_CALLS = 256
_ALIGNED = 64

TENSOR, DTYPE, DEVICE, SLICE, ELLIPSIS = "t", "d", "v", "s", "e"
"""What the tuples begin with that stand for objects. Sequences are sent as lists."""


class NotSent(Exception):
    """An argument that another process cannot be given. The text says which."""


class NoPyTorch(Exception):
    """PyTorch cannot be imported where the script runs. The text is what Python says."""


class _Half:
    """Memory that both processes see."""

    def __init__(self) -> None:
        self.file = os.memfd_create("clew-check")
        self.busy = False
        self.used = 0
        self._resize(_BYTES)

    def _resize(self, size: int) -> None:
        os.ftruncate(self.file, size)
        self.size = size
        self.memory = mmap.mmap(self.file, size)

    def write(self, tensor: Tensor) -> Any:
        """The tuple that stands for the tensor."""
        found = _core.copy_out(tensor, self.memory, self.used)
        if isinstance(found, int):
            needed = self.used + found
            self._resize(max(2 * self.size, needed + _ALIGNED))
            found = _core.copy_out(tensor, self.memory, self.used)
        if found is None:
            raise NotSent("a tensor without memory (of device meta)")
        assert not isinstance(found, int)
        self.used += -(-found[1] // _ALIGNED) * _ALIGNED
        return (TENSOR, *found)


class Channel:
    """The process in which PyTorch runs the calls, and the way to it."""

    def __init__(self) -> None:
        self._halves = [_Half(), _Half()]
        self._half = self._halves[0]
        self._records: list[Any] = []
        self.open = 0  # records that are being written
        ours, theirs = socket.socketpair()
        environment = dict(os.environ, TORCH_CPP_LOG_LEVEL="ERROR")
        paths = environment.get("PYTHONPATH", "").split(os.pathsep)
        root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
        environment["PYTHONPATH"] = os.pathsep.join([root, *(path for path in paths if path not in ("", PATH))])
        files = [theirs.fileno(), *(half.file for half in self._halves)]
        command = [sys.executable, "-P", "-m", f"{__package__}.worker", *map(str, files)]
        self._process = subprocess.Popen(command, pass_fds=files, env=environment, stdin=subprocess.DEVNULL)
        theirs.close()
        self._connection = Connection(ours.detach())
        self._owner = os.getpid()

    def wait_for_pytorch(self) -> str:
        """Its version.

        Raises:
            NoPyTorch: there is none.
        """
        try:
            version, error = self._connection.recv()
        except EOFError:
            version, error = "", "its process ended while it was imported"
        if error:
            raise NoPyTorch(error)
        return str(version)

    def encode(self, value: Any) -> Any:
        """What stands for an argument or a result.

        Raises:
            NotSent: it is of a kind that PyTorch's process has no equal of.
        """
        if isinstance(value, Tensor):
            return self._half.write(value)
        if value is None or type(value) in (int, float, bool, str, complex):
            return value
        if isinstance(value, list | tuple):
            return [self.encode(item) for item in value]
        if isinstance(value, dict):
            return {key: self.encode(item) for key, item in value.items()}
        if isinstance(value, slice):
            return (SLICE, value.start, value.stop, value.step)
        if value is Ellipsis:
            return (ELLIPSIS,)
        if value in (bool, int, float, complex):
            return (DTYPE, {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[value])
        if (kind := type(value).__name__) in ("dtype", "device", "memory_format", "layout"):
            return (DEVICE if kind == "device" else DTYPE, str(value).rpartition(".")[2])
        raise NotSent(f"an argument of type {kind}")

    def send(self, record: Any) -> None:
        """Put one record into the queue."""
        self._records.append(record)

    def flush_if_full(self) -> None:
        """Hand over what waits, if it is much and no record is being written."""
        if self.open:
            return
        if self._half.used > _BYTES // 2 or len(self._records) >= _MOST_CALLS:
            self.flush()

    def flush(self) -> None:
        """Hand over what waits."""
        if not self._records or os.getpid() != self._owner:  # after a fork, the child's calls are not checked
            return
        number = self._halves.index(self._half)
        self._connection.send((number, self._half.size, self._records))
        self._records = []
        self._half.busy = True
        self._half = self._halves[1 - number]
        if self._half.busy:
            self._connection.recv()  # PyTorch is done with the older one of the two
            self._half.busy = False
        self._half.used = 0

    def found(self) -> dict[str, Any]:
        """What PyTorch's process has found since it was last asked."""
        self.flush()
        self._connection.send(None)
        for half in self._halves:
            if half.busy:
                self._connection.recv()
                half.busy = False
        found: dict[str, Any] = self._connection.recv()
        return found

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
