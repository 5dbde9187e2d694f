"""A kept program as users see it: its steps, its inputs, its text."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..autograd.errors import KeepWarning, ReplayError
from .options import Options
from .spare_compiler import spare_compiler
from .values import Step, Values

if TYPE_CHECKING:
    from ..graph.pictures.picture import Picture
    from .targets.to_c import Sizes

NUMBERS = (
    ". To do: make it a tensor before the block, so that it can be changed: gain = torch.tensor(0.5), "
    "or as a learning rate SGD(parameters, lr=torch.tensor(0.1))"
)


@dataclass(frozen=True)
class Input:
    """A tensor from before the block, or (`grad_of`) the `.grad` of one."""

    value: int
    tensor: Tensor
    grad_of: bool


class Program:
    """The program that `keep_graph` recorded. `print(program)` lists its steps.

    Example:
        >>> x = clew.ones(3)
        >>> with clew.keep_graph() as program:
        ...     y = x.exp().sum()
        >>> [step.op for step in program.steps]
        ['exp', 'sum']
        >>> program.name(x=x, y=y)
        >>> x.fill_(0.0) is program["x"]
        True
        >>> program.run()
        >>> program["y"]
        tensor(3.)
    """

    def __init__(self, *, code: bool = True) -> None:
        self._core = _core.Program()
        self._core._coded = code
        if code:
            spare_compiler()
        self._names: dict[str, Tensor] = {}
        self._seen: Values | None = None
        self._seen_at = 0  # leaves that are written become inputs
        self._options: list[Options] = []

    def run(self) -> None:
        """Run all steps again, with the present values of the inputs. The recorded run was the first.

        Tensors of the block that are alive get their new values in place, and their `_version` grows by one. Writes in
        place are repeated, random numbers are drawn again, `.grad`s are set, and nodes of the graph have the state at
        the end of the block. Numbers that the block's Python read are constant. This includes options of optimizers: if
        one has changed since, a `KeepWarning` names it, once for each option of a group.

        Raises:
            ReplayError: an input differs in shape, strides, dtype, shared memory, requires_grad, history, hooks or
                presence of a `.grad`; a value that Python read has changed; or a step failed. Nothing has been changed.
        """
        if any(options.differ() for options in self._options):
            self._warn_of_options()
        try:
            self._core.run()
        except ReplayError as error:
            names = [name for name, tensor in self._names.items() if tensor is error.input]
            error.input_name = names[0] if names else error.input_name
            raise

    def _note_options(self, optimizer: Any) -> None:
        self._options = [known for known in self._options if known.optimizer() is not optimizer]
        self._options.append(Options(optimizer))

    def _warn_of_options(self) -> None:
        advice = "use clew.compile(step), which follows it, or record the step again in a new block"
        for told in [text for options in self._options for text in options.told()]:
            warnings.warn(KeepWarning(f"run: {told}. To do: {advice}"), stacklevel=3)

    def name(self, **tensors: Tensor) -> None:
        """Name tensors: inputs, or tensors of the block.

        Raises:
            TypeError: something is no tensor.
            ValueError: the name is empty, or another tensor has it, or the program neither reads nor computes the
                tensor (for example because the variable was assigned again).
        """
        for name, tensor in tensors.items():
            if not isinstance(tensor, Tensor):
                advice = "" if not isinstance(tensor, (int, float)) else NUMBERS
                raise TypeError(f"name: expected a tensor for {name!r}, got {type(tensor).__name__}{advice}")
            if not name:
                raise ValueError("name: expected names of at least one letter, got ''; take another name")
            if self._core.register_of(tensor) < 0:
                raise ValueError(
                    f"name: expected a tensor that the program reads or computes for {name!r}, got another one; "
                    "keep the tensor of the block in a variable of its own"
                )
            if self._names.get(name, tensor) is not tensor:
                raise ValueError(f"name: {name!r} is another tensor already; take another name")
        self._names |= tensors

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._names:
            raise KeyError(f"{name!r}; named are {sorted(self._names)}: give a name by program.name({name}=tensor)")
        return self._names[name]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file, with the present values of its inputs. `clew.load_program` reads it.

        The file is a safetensors file, whose metadata have the program as text. It is no pickle. A named tensor can be
        accessed after loading. A tensor without a name is saved with its present value.

        Raises:
            NotImplementedError: a step is Python (`clew.pure`), or the graph of a named result has Python in it (a
                Function's backward, hooks). The error names the operation and its line, and nothing is written.

        Example:
            >>> import os, tempfile
            >>> x = clew.ones(3)
            >>> with clew.keep_graph() as program:
            ...     y = x.exp().sum()
            >>> program.name(x=x, y=y)
            >>> program.save(os.path.join(tempfile.mkdtemp(), "program.clew"))
        """
        from . import files

        files.save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels as its file would, names included: it runs elsewhere without the source."""
        from . import files

        return _from_bytes, (files.to_bytes(self), self._core._coded)

    def to_c(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str = "program",
        unroll: bool = False,
        constants: str | None = None,
        overwrite: bool = False,
    ) -> Sizes:
        """Write the program as C11 into `folder`: program.c, program.h, a Makefile and a main.c that runs it.

        It needs nothing but libm, takes no memory after its start, and computes what the block computed, to rounding.
        Named tensors are arrays, `float program_x[n]`, and hold their present values at the start; what has no name is
        constant, or state from run to run. `program_forward()`, `program_backward()` and `program_step()` are the steps
        before, in and after the block's backward passes; `program_run()` is all of them. Python numbers, guards and
        `.grad`s are as in the recorded run: where the block found no `.grad`, each run sets it anew.

        A dot in a name becomes an underscore: "layer.weight" is `program_layer_weight`, with its name in a comment.
        `program_tensors` is a table of all named tensors: name, address, shape, dtype and bytes.

        Iterations that repeat are one loop in C, with tables of what differs from one to the next.

        A number that is to change on the device is a named tensor: `gain = torch.tensor(0.5)`, or the learning rate of
        SGD, Adam or AdamW, `lr=torch.tensor(0.1)`.

        Args:
            folder: it is made if it is missing. Files there that `to_c` has made are written again. A `main.c` or a
                `Makefile` that you have written or edited stays as it is.
            name: all files and symbols begin with it, so that several programs link into one firmware. With another
                name than "program", the examples are `policy_main.c` and `policy.mk`.
            unroll: write each iteration out, without loops over iterations.
            constants: "float16" or "int8" (with a scale for 32 elements) stores constants of floats so; what they are
                computed with stays float32 or float64. The error is part of what is returned, and printed.
            overwrite: write all four, whatever is there.

        Returns:
            What it takes, in bytes. If there are loops over iterations, it is compared with the unrolled program. With
            `constants`, the errors of the named results that the rounding makes, at the present values of the inputs.

        Raises:
            NotImplementedError: operations that C can't express, with their lines. Nothing is written.
            ValueError: a name is no name in C, or the same there as another one, or of a tensor that the program
                neither reads nor makes; two named inputs share memory; an input has another shape, strides or dtype; or
                a constant is too large for float16.
            ReplayError: a part of the block is done once only, as an optimizer's first step.
            FileExistsError: `program.c` or `program.h` is there, and not as `to_c` wrote it. Nothing is written.

        Example:
            >>> import tempfile
            >>> x = clew.ones(3)
            >>> with clew.keep_graph() as program:
            ...     y = x.exp().sum()
            >>> program.name(x=x, y=y)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     print(program.to_c(folder))
            28 bytes of RAM (16 named, 0 state, 12 arena), 0 bytes of constants
        """
        from .targets.to_c import to_c

        return to_c(self, folder, name, unroll, constants, overwrite)

    def draw(self, show_attrs: bool = False, max_attr_chars: int = 50) -> Picture:
        """A picture of the steps, in the formats that pictures of graphs have: `html`, `svg`, `png`, `dot`, `save()`.

        A box has the operation, the user's line, and shape and bytes of what the step makes; "guard" marks a
        value that Python read. Inputs are green, named results blue. Groups are functions, loops and the backward.

        Args:
            show_attrs: whether to write options and Python's numbers into the boxes.
            max_attr_chars: options are cut to as many characters.

        Example:
            >>> x = clew.ones(3)
            >>> with clew.keep_graph() as program:
            ...     y = x.exp().sum()
            >>> program.name(x=x, y=y)
            >>> [row.title for row in program.draw().rows()]
            ['x', 'exp', 'sum', 'y']
        """
        from .drawing import draw

        return draw(self, max_attr_chars if show_attrs else 0)

    def to_jax(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """The program as a pure function for JAX, which jax.jit, jax.grad and jax.export take.

        It maps a dict of named inputs, arrays, to a dict of the named tensors that the program makes or writes. An
        input that is left out, and what has no name, has the value of now: name an optimizer's state to carry it on.
        Without jax_enable_x64, int64 is computed in 32 bits, with a warning that names a step that may need more.

        Raises:
            RuntimeError: by the function, without jax_enable_x64: the program needs float64, or integers of 64 bits.
            NotImplementedError: operations that JAX can't express here, with their lines.
            ValueError: a name is of a tensor that the program neither reads nor makes; two named inputs share memory;
                or an input has another shape, strides or dtype.
            ReplayError: a part of the block is done once only, as an optimizer's first step.
            ImportError: the package jax is missing.

        Example:
            >>> x = clew.ones(3)
            >>> with clew.keep_graph() as program:
            ...     y = (x * x).sum()
            >>> program.name(x=x, y=y)
            >>> function = program.to_jax()
            >>> import jax
            >>> jax.grad(lambda x: function({"x": x})["y"])(jax.numpy.array([1.0, 2.0, 3.0])).tolist()
            [2.0, 4.0, 6.0]
        """
        from .targets.to_jax import to_jax

        return to_jax(self)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the program as an ONNX model, checked by onnx.checker.

        Named inputs are inputs, named tensors that the program makes are outputs; of a named input that it writes, as a
        parameter in a training step, the new value is the output `<name>_next`. An input that requires grad, or that
        the program writes, has its value of now as default. What has no name has the value of now.
        Nodes carry the operation and the line of Python in their doc_string.

        Raises:
            NotImplementedError: operations that ONNX can't express, with their lines. Nothing is written.
            ValueError: a name is of a tensor that the program neither reads nor makes, or taken by a new value; two
                named inputs share memory; or an input has another shape, strides or dtype.
            ReplayError: a part of the block is done once only, as an optimizer's first step.
            ImportError: the package onnx is missing.

        Example:
            >>> import os, tempfile
            >>> x = clew.ones(3)
            >>> with clew.keep_graph() as program:
            ...     y = x.exp().sum()
            >>> program.name(x=x, y=y)
            >>> program.to_onnx(os.path.join(tempfile.mkdtemp(), "program.onnx"))
        """
        from .targets.to_onnx import to_onnx

        to_onnx(self, path)

    @property
    def code(self) -> list[str]:
        """How it stands with generated code: a line for each run of calls that code may take over.

        Example:
            >>> x = clew.ones(3)
            >>> with clew.keep_graph(code=False) as program:
            ...     y = x.exp().sum()
            >>> program.run()
            >>> program.code
            []
        """
        return self._core._code()

    @property
    def steps(self) -> list[Step]:
        """All steps in order."""
        return list(self._values.steps)

    @property
    def inputs(self) -> list[Input]:
        """What the block read and did not make."""
        return [Input(reg, tensor, grad_of) for reg, tensor, grad_of in self._core.inputs()]

    @property
    def _values(self) -> Values:
        revision = self._core.revision
        if self._seen is None or self._seen_at != revision:
            self._seen, self._seen_at = Values(self._core), revision
        return self._seen

    def __str__(self) -> str:
        from .text import listing

        return listing(self, self._names)

    def __repr__(self) -> str:
        return f"<clew.keep.Program: {len(self._core.steps())} steps, {len(self._core.inputs())} inputs>"


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
    from .._files import container
    from . import files

    program = Program(code=code)
    files.fill(program, *container.read(path, files.KIND))
    return program


def _from_bytes(data: bytes, code: bool = True) -> Program:
    """What a pickle calls: the reverse of `files.to_bytes`."""
    from .._files import container
    from . import files

    program = Program(code=code)
    files.fill(program, *container.unpacked(data, files.KIND))
    return program
