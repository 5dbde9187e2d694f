"""Steps of a program in single static assignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import Site

_LAYERS = ("lstm", "gru", "rnn_tanh", "rnn_relu")  # by their `kind`


def public_name(step: tuple[Any, ...], steps: list[tuple[Any, ...]], registers: list[tuple[Any, ...]]) -> str:
    """What users know a step by: one operation of clew's is a layer of an LSTM, of a GRU or of an RNN."""
    op: str = step[0]
    if not op.startswith("_recurrent_layer"):
        return op
    made_by = [registers[reg][5] for reg in step[2] if reg >= 0]  # of a backward: the last ones are its layer's
    options = [step[5], *(steps[made][5] for made in reversed(made_by) if made >= 0)]
    kind = next((one["kind"] for one in options if "kind" in one), None)
    return op if kind is None else op.replace("_recurrent_layer", _LAYERS[kind])


@dataclass(frozen=True)
class Step:
    """One recorded operation.

    Values are numbered in single static assignment: each step gives new numbers to its results, and a write in place
    gives a new number to the written value.
    """

    op: str
    """The operation: "mul", "add_", "read.item" (a value that Python got), "set_grad"."""
    attributes: dict[str, Any]
    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]
    """New values: results, and new versions of what was modified in place."""
    aliases: tuple[tuple[int, int], ...]
    """(output, value) pairs that share memory: views, and versions of one memory."""
    site: Site | None
    """The user's line."""
    in_backward: bool
    """Whether a backward ran it."""
    draws: bool
    """Whether it draws from a random generator."""


class Values:
    """Steps and the values that they make, worked out from registers and what is written."""

    def __init__(self, core: _core.Program) -> None:
        self.registers = core.registers()
        self.current = list(range(len(self.registers)))  # the value of each register
        self.register_of = list(self.current)  # of each value
        self.seen: set[int] = {reg for reg, *_ in core.inputs()} | {reg for reg, _ in core.constants()}
        steps = core.steps()
        self.steps = [self._step(public_name(raw, steps, self.registers), *raw[1:]) for raw in steps]

    def _step(
        self,
        op: str,
        kind: str,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        written: tuple[int, ...],
        attributes: dict[str, Any],
        site: Site | None,
        in_backward: bool,
        draws: bool,
        leaf: int,
    ) -> Step:
        read = tuple(None if reg < 0 else self.current[reg] for reg in inputs)
        if leaf >= 0:
            read = (self.current[leaf], *read)
        aliases: list[tuple[int, int]] = []
        made: list[int | None] = []
        for reg in written:
            made.append(self._write(reg, aliases))
        for reg in outputs:
            if reg < 0:
                made.append(None)
                continue
            if reg in self.seen:
                self._renew(reg, aliases)  # the same view of the same memory, made once more
            value = self.current[reg]
            made.append(value)
            shared = [(value, other) for other in read if other is not None and self._share(value, other)]
            aliases += [pair for pair in shared if pair not in aliases]
            self.seen.add(reg)
        return Step(op, attributes, read, tuple(made), tuple(aliases), site, in_backward, draws)

    def _write(self, reg: int, aliases: list[tuple[int, int]]) -> int:
        """A new version of all that the write may reach; the number of the one that it is written through."""
        memory, _, _, begin, end, _ = self.registers[reg]
        for other in sorted(self.seen):
            other_memory, _, _, first, last, _ = self.registers[other]
            if other_memory != memory or first >= end or begin >= last:
                continue
            self._renew(other, aliases)
        return self.current[reg]

    def _renew(self, reg: int, aliases: list[tuple[int, int]]) -> None:
        """Another number for what the register holds from now on."""
        value = len(self.register_of)
        self.register_of.append(reg)
        aliases.append((value, self.current[reg]))
        self.current[reg] = value

    def _share(self, value: int, other: int) -> bool:
        mine, theirs = (self.registers[self.register_of[one]] for one in (value, other))
        return value != other and bool(mine[0] == theirs[0])
