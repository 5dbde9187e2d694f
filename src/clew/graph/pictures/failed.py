"""The graph that a backward failed in, with those who took part marked."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any

from ... import _core
from ..explanations.repairs import parties_of
from ..model.walk import walk
from ..program.names import names_of
from .draw import draw
from .picture import Picture

_MOST_OF_A_LINE = 3  # boxes that are marked


def draw_failed(error: BaseException, frames: Sequence[FrameType], roots: Sequence[Any]) -> Picture:
    """The graph below ``roots``, from which the backward started; ``frames`` are those that ran, innermost first."""
    leaves = [one.variable for one in walk(roots) if isinstance(one, _core.AccumulateGrad)]
    living = {id(leaf): leaf for leaf in leaves if leaf is not None}
    names = names_of(living.values(), frames).tensors
    picture = draw(roots, {name: living[key] for key, name in names.items()})
    if picture.summary is None:
        _mark(picture, getattr(error, "node", None), error)
    return picture


def _mark(picture: Picture, node: Any, error: BaseException) -> None:
    columns = picture.columns
    rows = {id(one()): row for row, one in enumerate(columns.nodes) if one is not None}
    by_line: dict[tuple[str, int], list[int]] = {}
    for row, place in enumerate(columns.place):
        if place >= 0:
            where = columns.places.values[place]
            by_line.setdefault((where.file, where.line), []).append(row)
    for what, file, line, _ in parties_of(error):
        found = by_line.get((file, line), [])
        own = rows.get(id(node))
        if own in found:
            found = [own] if own is not None else []
        for row in found[:_MOST_OF_A_LINE]:
            picture.marks.setdefault(row, what)
