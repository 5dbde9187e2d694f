"""Kept programs in files: `Program.save`, `load_program`.

The text of a file is JSON with `program` (registers, steps, nodes; see core/program/README.md), `tensors` and `names`.
"""

from __future__ import annotations

import os
from typing import Any

from .. import _core
from .._core import Tensor
from .._files import container
from .._files.data import WRONG, from_json, mapped, to_json
from .._files.tensors import TensorReader, TensorWriter
from ..autograd.errors import ProgramError
from .program import Program

_KIND = "clew program"


def save(program: Program, path: str | os.PathLike[str]) -> None:
    """What `Program.save` does."""
    content, entries = _written(program)
    container.write(path, _KIND, content, entries)


def to_bytes(program: Program) -> bytes:
    """What a file of it would hold, for a pickle."""
    return b"".join(container.packed(_KIND, *_written(program)))


def from_bytes(data: bytes, code: bool = True) -> Program:
    """The reverse."""
    return _made(*container.unpacked(data, _KIND), code)


def _written(program: Program) -> tuple[dict[str, Any], list[container.Entry]]:
    writer = TensorWriter()
    names = {name: _number(writer, tensor, name) for name, tensor in program._names.items()}
    named = list(program._names.values())
    data = _core.program_to_python(program._core, named)
    _check(data)
    text = mapped(data, lambda value: to_json(value, writer))
    return {"program": text, "names": names, "tensors": writer.tensors}, writer.entries


def _number(writer: TensorWriter, tensor: Tensor, name: str) -> int:
    try:
        return writer.number(tensor, name)
    except RuntimeError as error:  # a view whose history can't be told since its base was written
        raise NotImplementedError(f"save: {name!r} can't be read any more; name a clone() of it: {error}") from error


def _check(data: dict[str, Any]) -> None:
    """What is written can be read again."""
    try:
        _core.program_from_python(_core.Program(), mapped(data, lambda value: value), False)
    except (RuntimeError, ValueError) as error:
        raise NotImplementedError(f"save: this program has a part that a file can't say: {error}") from None


def load_program(path: str | os.PathLike[str], *, code: bool = True) -> Program:
    """Read a program that `Program.save` wrote.

    Its inputs are restored with their values, `requires_grad` and `.grad`. Tensors that shared memory share it again.
    `program["x"]` returns a named tensor; write new data into it with `copy_`. Each random generator continues where it
    was, and belongs to the program. After its `forward()`, the graph of a result is ready for `backward()`.

    Nothing in the file is executed, and its steps are checked before they run.

    Args:
        path: the file.
        code: let the system's C compiler compile small elementwise calls, as `clew.compile` does.

    Raises:
        ProgramError: the file is no program, it is damaged, or its steps are inconsistent.
        OSError: it can't be read.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "program.clew")
        >>> w = clew.ones(2, requires_grad=True)
        >>> with clew.keep_graph() as program:
        ...     y = (w * w).sum()
        >>> program.name(w=w, y=y)
        >>> program.save(path)
        >>> loaded = clew.load_program(path)
        >>> loaded["w"].data.fill_(3.0)
        tensor([3., 3.])
        >>> loaded["y"].forward().backward()
        >>> loaded["w"].grad
        tensor([6., 6.])
    """
    return _made(*container.read(path, _KIND), code)


def _made(content: Any, memories: dict[str, memoryview], code: bool = True) -> Program:
    program = Program(code=code)
    try:
        reader = TensorReader(content["tensors"], memories)
        data = mapped(content["program"], lambda value: from_json(value, reader))
        names = {name: reader.tensor(number) for name, number in content["names"].items()}
        _core.program_from_python(program._core, data, True)
    except ProgramError:
        raise
    except WRONG as error:
        raise ProgramError(f"load_program: this file can't be run: {error}") from error
    program._names = names
    return program
