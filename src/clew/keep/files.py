"""Kept programs in files: `Program.save`, `load_program`.

The text of a file is JSON with `program` (registers, steps, nodes; see core/program/README.md), `tensors` and `names`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from .._files import container
from .._files.data import WRONG, from_json, mapped, to_json
from .._files.tensors import TensorReader, TensorWriter
from ..autograd.errors import ProgramError

if TYPE_CHECKING:
    from .program import Program

KIND = "clew program"


def save(program: Program, path: str | os.PathLike[str]) -> None:
    """What `Program.save` does."""
    content, entries = _written(program)
    container.write(path, KIND, content, entries)


def to_bytes(program: Program) -> bytes:
    """What a file of it would hold, for a pickle."""
    return b"".join(container.packed(KIND, *_written(program)))


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


def fill(program: Program, content: Any, memories: dict[str, memoryview]) -> None:
    """Make an empty program the one of a file.

    Raises:
        ProgramError: this is no program that can be run.
    """
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
