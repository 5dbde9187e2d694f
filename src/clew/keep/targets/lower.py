"""From a kept program to kernels over memories: what all targets begin with."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from numpy.lib.stride_tricks import as_strided

from ..._core import Tensor
from ..values import public_name
from . import adaptive, attention, indexing, layers, matrix, reductions, training, windows  # noqa: F401  (they fill the table)
from .elementwise import ARITHMETIC, COMPARING, LOGICAL, MASKS
from .errors import Unsupported
from .kernels import Builder, Kernel, Origin
from .layout import Memory, Operand, whole
from .scalar import FLOATS, INTEGERS, KNOWN, Expr, constant
from .table import LOWERINGS, Call

if TYPE_CHECKING:
    from ..program import Program

PARTS = ("forward", "backward", "step")
RATED = ("sgd_step", "adam_step")
"""Operations that are given a learning rate."""


@dataclass
class Named:
    """A tensor that has a name: all of `memory`, row by row."""

    name: str
    memory: Memory
    shape: tuple[int, ...]
    is_input: bool
    is_result: bool
    """Whether the program makes or writes it."""
    is_parameter: bool
    """An input that requires grad, or that the program writes for its next run."""


@dataclass
class Lowered:
    """A program as kernels. A memory with `values` is there at the start; others are made by the kernels."""

    kernels: list[Kernel]
    named: list[Named]
    kept: list[Memory]
    """Memories from before the block that the program writes, its named inputs included: state, for its next run."""

    def memories(self) -> list[Memory]:
        """All that anything uses, in the order of use."""
        found = dict.fromkeys(one.memory for one in self.named)
        for kernel in self.kernels:
            found |= dict.fromkeys([*kernel.read(), kernel.out.memory])
        return [memory for memory in found if memory.number is None]


def lower(program: Program, method: str) -> Lowered:
    """
    Raises:
        NotImplementedError: names each operation that can't be lowered, with its line.
        ValueError: a name is of a tensor that the program neither reads nor makes, or two inputs that share memory.
        ReplayError: a part of the block is done once only (an optimizer's first step).
        RuntimeError: the block is under way, or failed.
    """
    program._core.check()
    return _Lowering(program, method).run()


class _Lowering:
    def __init__(self, program: Program, method: str) -> None:
        self.method = method
        self.core = program._core
        self.names = program._names
        self.options = program._options
        self.registers = self.core.registers()
        self.layouts = self.core.layouts()
        self.raw = self.core.steps()
        self.rates = self._rates()
        self.by_name: dict[str, list[tuple[Any, ...]]] = {}
        for step in self.raw:
            self.by_name.setdefault(step[0], []).append(step)
        self.failures: dict[str, None] = {}
        self.builder = Builder()
        self.written: set[Memory] = set()
        self.memories = self._memories()

    def run(self) -> Lowered:
        last = max((i for i, step in enumerate(self.raw) if step[7]), default=-1)
        first = next((i for i, step in enumerate(self.raw) if step[7]), len(self.raw))
        named = self._named()
        for i, step in enumerate(self.raw):
            part = "forward" if i < first else "backward" if i <= last else "step"
            self.builder.origin = Origin(
                public_name(step, self.raw, self.registers), "" if step[6] is None else str(step[6]), part
            )
            try:
                self._step(i, step)
            except Unsupported as why:
                self.failures[self.builder.origin.fails(str(why))] = None
        self._gradients_that_stay()
        if self.failures:
            raise NotImplementedError(
                f"{self.method}: can't express " + "; ".join(self.failures) + ". To do: leave it out of the block"
            )
        try:
            return self._finished(named)
        except Unsupported as why:
            raise NotImplementedError(f"{self.method}: can't express a named tensor {why}") from None

    # ---------------------------------------------------------------------------------------------- memories
    def _memories(self) -> list[Memory | None]:
        """What registers reach of each memory; `starts` says from which element on."""
        count = len(self.core.memories())
        self.starts, ends = [-1] * count, [0] * count
        dtypes: list[set[str]] = [set() for _ in range(count)]
        for (memory, shape, dtype, *_), (strides, offset) in zip(self.registers, self.layouts, strict=True):
            end = offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
            start, end = (offset, max(end, offset)) if 0 not in shape else (offset, offset)
            self.starts[memory] = start if self.starts[memory] < 0 else min(start, self.starts[memory])
            ends[memory] = max(ends[memory], end)
            dtypes[memory].add(dtype)
        made: list[Memory | None] = [
            Memory(next(iter(kinds)), end - max(start, 0)) if len(kinds) == 1 and kinds <= set(KNOWN) else None
            for start, end, kinds in zip(self.starts, ends, dtypes, strict=True)
        ]
        self._fill(made)
        return made

    def _fill(self, memories: list[Memory | None]) -> None:
        """The present values of what was there before the block."""
        constants = [(reg, tensor, False) for reg, tensor in self.core.constants()]
        for reg, tensor, grad_of in [*self.core.inputs(), *constants]:
            memory = memories[self.registers[reg][0]]
            present = tensor.grad if grad_of else tensor
            if memory is None or memory.values is not None or present is None:
                continue
            self._check_layout(reg, present, tensor, grad_of)
            start = present.storage_offset() + self.starts[self.registers[reg][0]] - self.layouts[reg][1]
            flat = present.detach().as_strided((memory.size,), (1,), start)
            memory.values = flat.numpy().copy()
        for reg, value, _ in constants:
            memory = memories[self.registers[reg][0]]
            if memory is not None and value.dim() == 0:
                memory.number = value.item()

    def _check_layout(self, reg: int, present: Tensor, tensor: Tensor, grad_of: bool) -> None:
        then = (tuple(self.registers[reg][1]), tuple(self.layouts[reg][0]), self.registers[reg][2])
        now = (tuple(present.shape), present.stride(), str(present.dtype).rpartition(".")[2])
        if then != now:
            name = next((repr(name) for name, one in self.names.items() if one is tensor), "an input without a name")
            said = [f"shape {shape}, strides {strides} and dtype {dtype}" for shape, strides, dtype in (then, now)]
            raise ValueError(
                f"{self.method}: expected {'the .grad of ' * grad_of}{name} as in the recorded run, of {said[0]}, got "
                f"{said[1]}; set it back, or run the block again"
            )

    def _operand(self, reg: int) -> Operand | None:
        if reg < 0:
            return None
        memory, shape, dtype, *_ = self.registers[reg]
        strides, offset = self.layouts[reg]
        known = self.memories[memory]
        if known is None:
            raise Unsupported(f"of {dtype}" if dtype not in KNOWN else "of memory that is read as two dtypes")
        return Operand(known, tuple(shape), tuple(strides), offset - self.starts[memory])

    # ------------------------------------------------------------------------------------------------- steps
    def _rates(self) -> dict[int, int]:
        """Steps of optimizers whose learning rate is a tensor, which was read just before them, and its register."""
        rates = {self.core.register_of(one) for options in self.options for one in options.rates()}
        present = {} if self.options else {reg: one for reg, one, grad_of in self.core.inputs() if not grad_of}
        groups = itertools.chain.from_iterable(options.groups() for options in self.options)
        group_of = {self.core.register_of(one): number for number, group in enumerate(groups) for one in group}
        found: dict[int, int] = {}

        def is_rate(reg: int, number: float) -> bool:
            """Of a program from a file, an input of this value: the optimizer has not travelled."""
            return reg in rates or (reg in present and present[reg].numel() == 1 and present[reg].item() == number)

        for i, (before, step) in enumerate(itertools.pairwise(self.raw), start=1):
            if step[0] not in RATED or str(before[6]) != str(step[6]):
                continue
            if before[0] == "read.float" and is_rate(before[2][0], step[5]["lr"]):
                found[i] = before[2][0]
            elif (
                i - 1 in found
                and before[5]["lr"] == step[5]["lr"]
                and group_of.get(before[2][0]) == group_of.get(step[2][0])  # another may have a number of this value
            ):
                found[i] = found[i - 1]
        return found

    def _step(self, place: int, raw: tuple[Any, ...]) -> None:
        op, kind, inputs, outputs, written, attributes, _, _, draws, _ = raw
        if kind == "read":
            if place + 1 in self.rates:
                return
            raise Unsupported("(Python or a derivative rule reads this value, so later steps may depend on it)")
        if kind == "python":
            raise Unsupported("(a Python function)")
        if kind != "run" or (not written and outputs and self._is_view(inputs, outputs)):
            return
        if draws:
            raise Unsupported("(a random draw)")
        if op.endswith("_backward") and not attributes:
            attributes = self._attributes_of_forward(op, inputs)
        if place in self.rates:
            attributes = {**attributes, "lr": self._operand(self.rates[place])}
        targets = tuple(map(self._operand, outputs or written))
        call = Call(op.rstrip("_"), tuple(map(self._operand, inputs)), targets, attributes)
        if not targets:
            raise Unsupported("")
        self.written |= {operand.memory for operand in map(self._operand, written) if operand is not None}
        self._lower(call)

    def _is_view(self, inputs: Iterable[int], outputs: Iterable[int]) -> bool:
        read = {self.registers[reg][0] for reg in inputs if reg >= 0}
        return all(self.registers[reg][0] in read for reg in outputs if reg >= 0)

    def _attributes_of_forward(self, op: str, inputs: tuple[int, ...]) -> dict[str, Any]:
        """A backward reads what its forward made: the step that made the last of its operands."""
        forward = op.removesuffix("_backward")
        forwards = self.by_name.get(forward, ())
        for reg in reversed(inputs) if forwards else ():
            made_by = self.registers[reg][5] if reg >= 0 else -1
            if made_by >= 0 and self.raw[made_by][0] == forward:
                return dict(self.raw[made_by][5])
        return next((dict(step[5]) for step in forwards if set(step[2]) & set(inputs)), {})

    def _lower(self, call: Call) -> None:
        if lowering := LOWERINGS.get(call.op):
            return lowering(self.builder, call)
        tensors = [operand for operand in call.inputs if operand is not None]
        options = dict(call.attributes)
        options.pop("dtype", None)
        number = options.pop("other", None)
        if call.op in ("max", "min"):
            call = Call(call.op + "imum", call.inputs, call.outputs, call.attributes)
        if formula := ARITHMETIC.get(call.op):
            kind, raw = None, MASKS.get(call.op, ())
        elif formula := COMPARING.get(call.op):
            kind, raw = self._promoted(tensors), ()
        elif formula := LOGICAL.get(call.op):
            kind, raw = "bool", ()
        else:
            raise Unsupported("")
        if call.op == "clamp" and None in call.inputs:
            formula = ARITHMETIC["clamp_min" if call.inputs[2] is None else "clamp_max"]

        try:
            inspect.signature(formula).bind(*tensors, *([number] * (number is not None)), **options)
        except TypeError:
            raise Unsupported("with these arguments") from None

        def value(*elements: Expr) -> Any:
            other = () if number is None else (constant(number, elements[0].dtype),)
            return formula(*elements, *other, **options)

        self.builder.assign(call.out, value, *tensors, dtype=kind, raw=raw)
        return None

    def _promoted(self, operands: list[Operand]) -> str:
        """The dtype in which an operation on these is computed; Python numbers count by their kind only."""
        tensors = [one.dtype for one in operands if one.memory.number is None] or [one.dtype for one in operands]
        dtype = max(tensors, key=KNOWN.index)
        numbers = [one.memory.number for one in operands if one.memory.number is not None]
        if any(isinstance(number, float) for number in numbers) and dtype not in FLOATS:
            return "float32"
        if any(type(number) is int for number in numbers) and dtype not in (*FLOATS, *INTEGERS):
            return "int64"
        return dtype

    def _gradients_that_stay(self) -> None:
        """A `.grad` that the program reads at its start is, at its end, what the last step has set."""
        for reg, leaf, grad_of in self.core.inputs():
            if not grad_of:
                continue
            own = [input_ for input_, tensor, is_grad in self.core.inputs() if tensor is leaf and not is_grad]
            sets = [step for step in self.raw if step[1] == "rebind" and step[9] in own]
            if not sets or (last := sets[-1][2][0]) == reg:
                continue
            if last < 0:
                origin = Origin("set_grad", str(sets[-1][6] or ""), "step")
                self.failures[origin.fails("of a .grad that is there at the start and not at the end")] = None
                continue
            source, target = self._operand(last), self._operand(reg)
            assert source is not None
            assert target is not None
            self.builder.origin = Origin("set_grad", str(sets[-1][6] or ""), self._part_of_last_write(source.memory))
            self.builder.copy(target, source)
            self.written.add(target.memory)

    def _part_of_last_write(self, memory: Memory) -> str:
        return next((one.origin.part for one in reversed(self.builder.kernels) if one.out.memory is memory), "forward")

    # ------------------------------------------------------------------------------------------------- names
    def _named(self) -> list[tuple[str, Tensor, int]]:
        found = []
        for name, tensor in self.names.items():
            reg = self.core.register_of(tensor)
            if reg < 0:
                raise ValueError(f"{self.method}: {name!r} is no tensor that the program reads or computes")
            found.append((name, tensor, reg))
        return found

    def _finished(self, named: list[tuple[str, Tensor, int]]) -> Lowered:
        kernels = self.builder.kernels
        inputs = {reg for reg, *_ in self.core.inputs()}
        before, after, result = Builder(), Builder(), []
        taken: set[Memory] = set()
        filled: set[Memory] = set()  # by the arrays of inputs that are no whole memory
        self._check_apart([(name, self._operand(reg)) for name, _, reg in named if reg in inputs])
        for name, tensor, reg in named:
            operand = self._operand(reg)
            assert operand is not None
            is_input, writes = reg in inputs, operand.memory in self.written
            memory = operand.memory
            if not operand.is_whole() or memory in taken or (memory.values is not None and not is_input):
                memory = Memory(operand.dtype, operand.numel)
                copy = whole(memory, operand.shape)
                if is_input:
                    before.origin = Origin("copy", name, "forward")
                    before.copy(operand, copy)
                    filled.add(operand.memory)
                if writes or not is_input:
                    after.origin = Origin("copy", name, self._part_of_last_write(operand.memory))
                    after.copy(copy, operand)
            taken.add(memory)
            memory.name = name
            memory.values = tensor.detach().numpy().reshape(-1).copy()
            is_parameter = is_input and (writes or tensor.requires_grad)
            result.append(Named(name, memory, tuple(operand.shape), is_input, writes or not is_input, is_parameter))
        ordered = sorted(
            [*before.kernels, *kernels, *after.kernels], key=lambda kernel: PARTS.index(kernel.origin.part)
        )
        state = [
            memory
            for memory in self.memories
            if memory is not None and memory in self.written | filled and memory.values is not None
        ]
        return Lowered(_needed(ordered, {*state, *taken}), result, state)

    def _check_apart(self, inputs: list[tuple[str, Operand | None]]) -> None:
        """Each input can be set without changing another one."""
        owners: dict[Memory, numpy.ndarray[Any, Any]] = {}
        for place, (name, operand) in enumerate(inputs):
            if operand is None or operand.numel == 0:
                continue
            here = owners.setdefault(operand.memory, numpy.full(operand.memory.size, -1))
            step = here.itemsize
            seen = as_strided(here[operand.offset :], operand.shape, [stride * step for stride in operand.strides])
            if (other := seen.max()) >= 0:
                raise ValueError(
                    f"{self.method}: expected named inputs with elements of their own, got {inputs[other][0]!r} and "
                    f"{name!r}, which share memory; name one of them only"
                )
            seen[...] = place


def _needed(kernels: list[Kernel], live: set[Memory]) -> list[Kernel]:
    """Without those that make what nobody reads."""
    kept = []
    for kernel in reversed(kernels):
        if kernel.out.memory in live:
            kept.append(kernel)
            live |= set(kernel.read())
    return kept[::-1]
