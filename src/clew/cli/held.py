"""Variables that still hold a graph when a script has ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .. import _core
from ..graph.explanations.describe import count
from ..graph.iterations.growth import GrowthWarning
from ..graph.iterations.holder import own_classes, own_modules
from ..graph.model.places import Place
from ..graph.model.protocol import Node
from ..graph.model.walk import walk
from ..graph.model.wording import bytes_text, counted
from ..graph.notes.finding import Finding
from ..graph.program.collecting import lines_that_collect
from ..graph.program.frames import is_ours, variables
from ..graph.program.names import find_tensors
from .script import Ending

_FEWEST_KEPT = 3  # losses in one list
_MOST_LINES = 3  # that add to one list


@dataclass(frozen=True, slots=True)
class Held:
    """A variable that still holds a graph when the script has ended.

    What a variable found before it holds too is not counted again: of one that holds nothing else there are no nodes.
    """

    path: str
    made_at: Place | None
    nodes: int
    node_bytes: int
    saved_bytes: int
    is_number: bool  # as a loss is
    spent_by: int  # which backward has gone through it; 0: none

    @property
    def container(self) -> str:
        """``losses[]`` for ``losses[3]``: the elements of one list are told together."""
        return re.sub(r"\[\d+\]$", "[]", self.path)


def find_held(scopes: Iterable[Mapping[str, object]]) -> Iterator[Held]:
    """Those that the scopes lead to."""
    counted_nodes: set[Node] = set()
    storages: set[int] = set()
    for path, tensor in find_tensors(scopes):
        root: Any = tensor._held_node
        if root is None:
            continue
        nodes = [node for node in walk([root], counted_nodes) if not isinstance(node, _core.AccumulateGrad)]
        saved_bytes = 0
        for slot in (slot for node in nodes for slot in node.saved):
            if slot.state == "held" and not slot.is_foreign and slot.storage not in storages:
                storages.add(slot.storage)
                saved_bytes += slot.nbytes
        spent_by = max((node.released.serial for node in nodes if node.released is not None), default=0)
        node_bytes = sum(node.nbytes for node in nodes)
        yield Held(path, Place.of(root.made_at), len(nodes), node_bytes, saved_bytes, tensor.dim() == 0, spent_by)


def grouped(held: Iterable[Held]) -> list[list[Held]]:
    """Those of one list and one line together: most saved bytes first, and last what holds nothing of its own."""
    groups: dict[tuple[str, Place | None], list[Held]] = {}
    for one in held:
        groups.setdefault((one.container, one.made_at), []).append(one)

    def order(group: list[Held]) -> tuple[bool, int]:
        return not any(one.nodes for one in group), -sum(one.saved_bytes for one in group)

    return sorted(groups.values(), key=order)


def kept_graphs(
    held: Iterable[Held], growth: Sequence[GrowthWarning], passes: Mapping[Place | None, int]
) -> Iterator[Finding]:
    """Lists of losses that keep the graphs of steps that are over, where the watch has not warned of their line.

    ``passes`` says how many backward passes went through what a line made. A list that keeps a few of many is a window,
    and losses without a backward whose line has seen some may be what the last steps left over.
    """
    told = {warning.made_at for warning in growth}
    for group in grouped(one for one in held if one.nodes):
        first, number = group[0], len(group)
        if number < _FEWEST_KEPT or first.made_at in told or not all(one.is_number for one in group):
            continue
        name = first.container.removesuffix("[]")
        nodes, node_bytes = sum(one.nodes for one in group), sum(one.node_bytes for one in group)
        saved = bytes_text(sum(one.saved_bytes for one in group))
        spent, most = {one.spent_by for one in group}, passes.get(first.made_at, 0)
        if 0 not in spent and len(spent) >= max(_FEWEST_KEPT, most // 2):
            what, advice = f"{number:,} earlier losses, whose backward has run", "keep only their numbers"
        elif spent == {0} and not most:
            what = f"{number:,} losses without a backward"
            advice = "compute them under no_grad(), or keep only their numbers"
        else:
            continue
        yield Finding(
            "kept graphs",
            first.made_at,
            f"`{name}` keeps the graphs of {what}: {counted(nodes, 'node')} of {bytes_text(node_bytes)}, "
            f"which saved {saved}",
            f"{advice}: {name}.append(loss.item()), or loss.detach()",
            collected(name, first.made_at),
        )


def growing(found: GrowthWarning, held: Iterable[Held]) -> Finding:
    """A warning of the watch as a finding, with what there is of it when the script has ended."""
    group = [one for one in held if (one.made_at, one.container.removesuffix("[]")) == (found.made_at, found.path)]
    nodes, nbytes = sum(one.nodes for one in group), sum(one.node_bytes + one.saved_bytes for one in group)
    at_the_end = f"; at the end of the script {counted(nodes, 'node')}, {bytes_text(nbytes)}" if nodes else ""
    text = f"{found.text}{at_the_end}"
    return Finding("kept graphs", found.made_at, text, found.advice, collected(found.path, found.made_at))


def collected(path: str | None, made: Place | None) -> tuple[tuple[str, Place], ...]:
    """The lines that put what one line made into the collection that keeps it."""
    if path is None or made is None:
        return ()
    lines = lines_that_collect(made.file, path)
    return tuple(("kept here", Place(made.file, line, function)) for line, function in lines[:_MOST_LINES])


def scopes_at_the_end(ending: Ending) -> list[Mapping[str, object]]:
    """The script's globals and classes, what the functions in which it failed still hold, and its other modules."""
    trace = ending.error.__traceback__ if ending.error else None
    return [vars(ending.module), own_classes(vars(ending.module)), *_locals(trace), own_modules()]


def living_leaves() -> int:
    """How many leaves have a node: one that an operation has used has it as long as it lives."""
    return count(_core.live_tensors())[0].leaves


def _locals(trace: TracebackType | None) -> Iterator[Mapping[str, object]]:
    while trace is not None:
        if trace.tb_frame.f_code.co_name != "<module>" and not is_ours(trace.tb_frame.f_code.co_filename):
            yield variables(trace.tb_frame)
        trace = trace.tb_next
