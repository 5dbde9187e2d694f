"""`program.draw()`: a program's steps as the boxes of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..graph.model.places import Place
from ..graph.model.wording import bytes_text
from ..graph.pictures.columns import LEAF, OPERATION, RESULT, Columns, Entry
from ..graph.pictures.folding import Component, fold
from ..graph.pictures.picture import Picture

if TYPE_CHECKING:
    from .program import Program
    from .values import Step


def draw(program: Program, attribute_width: int) -> Picture:
    """The picture. Steps stand in their order, in groups by function, loop and backward."""
    columns = Columns()
    inputs, steps = _inputs(program), program.steps
    users: dict[int, list[int]] = {value: [] for value in inputs}
    for number, step in enumerate(steps):
        for value in dict.fromkeys(step.inputs):
            if value in users:
                users[value].append(number)
    used = [value for value in inputs if users[value]]
    signatures = [columns.text.add(f"{step.op} {step.site}") for step in steps]
    lines = ["" if step.site is None else f"{_place(step).short}" for step in steps]
    columns.text = type(columns.text)()
    groups = fold(signatures, lines, _paths(steps), [users[value] for value in used], columns.text)
    made_by: dict[int | None, int] = {}  # rows, of values
    for number in groups.order:
        if number >= len(steps):
            value = used[number - len(steps)]
            made_by[value] = columns.add(_input_entry(program, value, inputs[value]))
            continue
        row = columns.add(*_step_entry(program, steps[number], made_by, attribute_width))
        for new in (*steps[number].outputs, *(version for version, _ in steps[number].aliases)):
            made_by.setdefault(new, row)
    rest = [_input_entry(program, value, inputs[value]) for value in inputs if not users[value]]
    for entry in (*rest, *_results(program, made_by, inputs)):
        groups.append(columns.add(entry))
    picture = Picture(columns, groups, noun="step")
    picture.snapshot("recorded")
    return picture


def _inputs(program: Program) -> dict[int, str]:
    """What each input, and each constant that is no number, is called."""
    names = {id(tensor): name for name, tensor in program._names.items()}
    found = {reg: "constant" for reg, value in program._core.constants() if value.numel() != 1}
    for one in program.inputs:
        name = names.get(id(one.tensor), "input")
        found[one.value] = f"{name}.grad" if one.grad_of else name
    return found


def _numbers(program: Program) -> dict[int, str]:
    return {reg: repr(value.item()) for reg, value in program._core.constants() if value.numel() == 1}


def _shape(program: Program, value: int) -> str:
    values = program._values
    _, shape, dtype, begin, end, _ = values.registers[values.register_of[value]]
    return f"{tuple(shape)} {dtype}, {bytes_text(end - begin)}"


def _place(step: Step) -> Place:
    place = Place.of(step.site)
    assert place is not None
    return place


def _paths(steps: list[Step]) -> list[tuple[Component, ...]]:
    """The backward, else the function that the line is in, unless all of it happens there."""
    functions = [step.site.function if step.site else "" for step in steps]
    around = set(functions[:1]) & set(functions[-1:]) | {"", "<module>"}
    paths: list[tuple[Component, ...]] = []
    for step, function in zip(steps, functions, strict=True):
        if step.in_backward:
            paths.append((("part", "backward"),))
        else:
            paths.append(() if function in around else (("function", f"{function}()"),))
    return paths


def _input_entry(program: Program, value: int, title: str) -> Entry:
    return Entry(LEAF, None, (), title, _shape(program, value))


def _step_entry(
    program: Program, step: Step, made_by: Mapping[int | None, int], attribute_width: int
) -> tuple[Entry, str]:
    """The row, and its second line: numbers and options, and what it is besides a computation."""
    numbers = _numbers(program)
    rows = dict.fromkeys(made_by[value] for value in step.inputs if value in made_by)
    shapes = [_shape(program, value) for value in step.outputs if value is not None]
    options = [numbers[value] for value in step.inputs if value in numbers]
    options += [f"{name}={value!r}"[:attribute_width] for name, value in step.attributes.items() if value is not None]
    notes = ["guard"] * step.op.startswith("read.") + ["draws"] * step.draws + ["backward"] * step.in_backward
    entry = Entry(OPERATION, None, tuple(rows), step.op, ", ".join(shapes), "", step.site)
    return entry, ", ".join([*(options if attribute_width else []), *notes])


def _results(program: Program, made_by: Mapping[int | None, int], inputs: Mapping[int, str]) -> list[Entry]:
    """What has a name and was made or written in the block."""
    found, values = [], program._values
    for name, tensor in program._names.items():
        reg = program._core.register_of(tensor)
        value = values.current[reg] if reg >= 0 else None
        if value in made_by and value not in inputs:
            assert value is not None
            found.append(Entry(RESULT, None, (made_by[value],), name, _shape(program, value)))
    return found
