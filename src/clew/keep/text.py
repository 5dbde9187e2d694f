"""What `print(program)` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import Tensor
from ..graph.model.wording import counted

if TYPE_CHECKING:
    from .program import Program
    from .values import Step


def listing(program: Program, names: dict[str, Tensor]) -> str:
    """Inputs, constants, then one line for each step: result, operation, operands, shape, bytes, the user's line."""
    values = program._values
    known = {id(tensor): name for name, tensor in names.items()}
    inputs, steps = program.inputs, program.steps
    numbers = {reg: repr(value.item()) for reg, value in program._core.constants() if value.numel() == 1}
    reads = sum(step.op.startswith("read.") for step in steps)
    lines = [f"program: {counted(len(inputs), 'input')}, {counted(len(steps), 'step')}, {counted(reads, 'guard')}"]
    for one in inputs:
        what = f".grad of {known.get(id(one.tensor), 'an input')}" if one.grad_of else known.get(id(one.tensor), "")
        lines.append(f"  %{one.value} = input {_typed(values.registers[one.value])} {what}".rstrip())
    used = {value for step in steps for value in step.inputs}
    tables = [reg for reg, _ in program._core.constants() if reg in used and reg not in numbers]
    lines += [f"  %{reg} = constant {_typed(values.registers[reg])}" for reg in tables]
    for step in steps:
        lines.append("  " + _line(step, values.registers, values.register_of, numbers, used))
    return "\n".join(lines)


def _line(
    step: Step,
    registers: list[tuple[Any, ...]],
    register_of: list[int],
    numbers: dict[int, str],
    used: set[int | None],
) -> str:
    def operand(value: int | None) -> str:
        return "None" if value is None else numbers.get(value, f"%{value}")

    made = ", ".join(operand(value) for value in step.outputs if value is not None)
    attributes = [f"{name}={value!r}" for name, value in step.attributes.items() if value is not None]
    text = f"{step.op}({', '.join([*map(operand, step.inputs), *attributes])})"
    if made:
        text = f"{made} = {text}"
    notes = [_typed(registers[register_of[value]]) for value in step.outputs if value is not None]
    # What else a write has changed.
    others = [pair for pair in step.aliases if pair[0] in used and pair[0] not in step.outputs]
    notes += [f"{operand(old)} is now %{new}" for new, old in others]
    notes += ["draws"] * step.draws + ["backward"] * step.in_backward + ["guard"] * step.op.startswith("read.")
    if step.site:
        notes.append(str(step.site))
    return f"{text}  # {', '.join(notes)}" if notes else text


def _typed(register: tuple[Any, ...]) -> str:
    _, shape, dtype, begin, end, _ = register
    return f"{dtype}{list(shape)} {end - begin} B"
