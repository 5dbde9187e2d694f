"""The table of operations that are no single elementwise expression: name to the kernels that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import Unsupported
from .kernels import Builder
from .layout import Operand


@dataclass(frozen=True)
class Call:
    """A step as lowerings see it."""

    op: str
    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand | None, ...]
    attributes: dict[str, Any]
    """Of a backward of several outputs: those of its forward."""

    @property
    def out(self) -> Operand:
        found = self.outputs[0]
        assert found is not None
        return found

    def input(self, place: int) -> Operand:
        found = self.inputs[place]
        if found is None:
            raise Unsupported("without one of its arguments")
        return found

    def axes(self, rank: int) -> tuple[int, ...]:
        """Of `dim`: all if there is none."""
        dim = self.attributes.get("dim")
        if dim is None or dim == ():
            return tuple(range(rank))
        return tuple(sorted(one % max(rank, 1) for one in ((dim,) if isinstance(dim, int) else dim)))[: max(rank, 0)]

    def kept(self, out: Operand, axes: tuple[int, ...], rank: int) -> Operand:
        """The result with its reduced axes as axes of size 1."""
        return out if out.rank == rank else out.inserted(*axes)


Lowering = Callable[[Builder, Call], None]
LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    def enter(function: Lowering) -> Lowering:
        LOWERINGS.update(dict.fromkeys(names, function))
        return function

    return enter
