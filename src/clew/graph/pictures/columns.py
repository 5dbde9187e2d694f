"""A graph as columns of numbers: what a picture keeps of it, without keeping the graph.

One number a node and column, with tables for what repeats (names, lines, shapes): a hundred thousand nodes take a few
megabytes, and a page reads them without making an object for each.
"""

from __future__ import annotations

import math
import weakref
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from ..._numeric import array_of
from ..explanations.describe import CopiedNode, leaf_key
from ..model import account
from ..model.places import Place, ReleaseRecord
from ..model.protocol import Node
from ..model.records import Site
from ..model.wording import dtype_name
from .flops import flops

OPERATION, LEAF, RESULT, INPUT = range(4)
STATES = ("held", "packed", "freed")
SHARED, FOREIGN = 1, 2  # flags of a slot


class Table:
    """Values by number, each once.

    Example:
        >>> table = Table()
        >>> table.add("add"), table.add("mul"), table.add("add"), table.values
        (0, 1, 0, ['add', 'mul'])
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def add(self, value: Any) -> int:
        """The number of ``value``, a new one if it was not there."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number


@dataclass(frozen=True, slots=True)
class Entry:
    """What becomes one row: a node of the graph, or (``node`` is None then) a tensor or a step of a program."""

    kind: int
    node: Node | None
    inputs: tuple[int, ...] = ()
    title: str = ""
    shape: str = ""
    remark: str = ""
    site: Site | None = None  # of a step; a node has its own
    module: str = ""


@dataclass(slots=True)
class Columns:
    """The rows are in an order in which everything comes after its inputs."""

    text: Table = field(default_factory=Table)
    places: Table = field(default_factory=Table)
    kind: array[int] = field(default_factory=lambda: array("B"))
    title: array[int] = field(default_factory=lambda: array("I"))  # operation, parameter or result
    place: array[int] = field(default_factory=lambda: array("i"))  # -1: not known
    shape: array[int] = field(default_factory=lambda: array("I"))
    nbytes: array[int] = field(default_factory=lambda: array("I"))
    module: array[int] = field(default_factory=lambda: array("I"))  # that made the node; empty: not known
    parameters: array[float] = field(default_factory=lambda: array("d"))  # elements of a leaf
    flops: array[float] = field(default_factory=lambda: array("d"))  # of the forward; -1: not known
    forward_ns: array[float] = field(default_factory=lambda: array("d"))  # 0: not measured
    backward_ns: array[float] = field(default_factory=lambda: array("d"))
    edge_from: array[int] = field(default_factory=lambda: array("I"))
    edge_to: array[int] = field(default_factory=lambda: array("I"))
    slot_end: array[int] = field(default_factory=lambda: array("I"))
    slot_name: array[int] = field(default_factory=lambda: array("I"))
    slot_shape: array[int] = field(default_factory=lambda: array("I"))
    slot_bytes: array[float] = field(default_factory=lambda: array("d"))
    slot_view_bytes: array[float] = field(default_factory=lambda: array("d"))
    slot_flags: array[int] = field(default_factory=lambda: array("B"))
    slot_storage: array[int] = field(default_factory=lambda: array("I"))  # equal numbers share memory
    attributes: dict[int, str] = field(default_factory=dict)
    remarks: dict[int, str] = field(default_factory=dict)
    variables: dict[int, str] = field(default_factory=dict)  # of the user's, that hold the results of operations
    nodes: list[weakref.ref[Any] | None] = field(default_factory=list)
    storages: Table = field(default_factory=Table)

    def __len__(self) -> int:
        return len(self.kind)

    def add(self, entry: Entry, attributes: str = "") -> int:
        """Append a row; its inputs must be there already."""
        row = len(self)
        node = entry.node
        site = node.made_at if node is not None and entry.kind == OPERATION else entry.site
        self.kind.append(entry.kind)
        self.title.append(self.text.add(entry.title or (name_of(node) if node is not None else "")))
        self.place.append(-1 if site is None else self.places.add(Place.of(site)))
        self.shape.append(self.text.add(entry.shape if node is None else outputs_text(node)))
        self.nbytes.append(0 if node is None else node.nbytes)
        self.module.append(self.text.add(entry.module))
        self._add_costs(entry)
        for below in entry.inputs:
            self.edge_from.append(below)
            self.edge_to.append(row)
        if node is not None:
            for slot in node.saved:
                self._add_slot(slot)
        self.slot_end.append(len(self.slot_name))
        if attributes:
            self.attributes[row] = attributes
        if entry.remark:
            self.remarks[row] = entry.remark
        # Weakly, so that a picture keeps no graph alive: what it shows would not be true any more.
        self.nodes.append(None if node is None else weakref.ref(node))
        return row

    def _add_costs(self, entry: Entry) -> None:
        node = entry.node
        count = flops(node) if node is not None and entry.kind == OPERATION else None
        self.flops.append(-1 if count is None else count)
        shape = node.outputs[0][0] if node is not None and entry.kind == LEAF and node.outputs else None
        self.parameters.append(0 if shape is None else math.prod(shape))
        forward, backward = (node.forward_ns, node.backward_ns) if isinstance(node, CopiedNode) else (0, 0)
        self.forward_ns.append(forward)
        self.backward_ns.append(backward)

    def _add_slot(self, slot: Any) -> None:
        flags = FOREIGN if slot.is_foreign else 0
        known = len(self.storages.values)
        number = self.storages.add(account.storage_key(len(self.slot_name), slot))
        if number < known:
            flags |= SHARED
        self.slot_storage.append(number)
        self.slot_name.append(self.text.add(slot.name))
        self.slot_shape.append(self.text.add(shape_text(slot.shape, slot.dtype)))
        self.slot_bytes.append(slot.nbytes)
        self.slot_view_bytes.append(slot.view_nbytes)
        self.slot_flags.append(flags)

    def slots_of(self, row: int) -> range:
        """The numbers of the slots of a row."""
        return range(self.slot_end[row - 1] if row else 0, self.slot_end[row])


@dataclass(slots=True)
class Snapshot:
    """What can change after a graph was made, at one moment. ``label`` says which."""

    label: str
    slot_state: bytearray
    slot_fate: bytearray  # of the slot's storage: a number in `account.FATES`
    gone: bytearray
    release: array[int]  # of each row: a number in `releases`, or -1
    releases: list[ReleaseRecord]
    gradients: dict[int, float]  # norms of what leaves have accumulated
    flow: dict[int, float] = field(default_factory=dict)  # norms of what came to other nodes, where somebody looked

    def same_state(self, other: Snapshot) -> bool:
        """Whether nothing was packed, freed, dropped or accumulated between the two."""
        return (
            self.slot_state == other.slot_state
            and self.slot_fate == other.slot_fate
            and self.gone == other.gone
            and self.release == other.release
            and self.gradients == other.gradients
        )


def take_snapshot(columns: Columns, label: str, releases: Table) -> Snapshot:
    """The present state of the nodes of ``columns``. ``releases`` is shared by the snapshots of a picture."""
    snapshot = Snapshot(
        label,
        bytearray([2]) * len(columns.slot_name),
        bytearray(len(columns.slot_name)),
        bytearray(len(columns)),
        array("i", [-1]) * len(columns),
        [],
        {},
    )
    records: dict[int, int] = {}
    fates = bytearray(len(columns.storages.values))
    for row, reference in enumerate(columns.nodes):
        if reference is None:
            continue
        node = reference()
        if node is None:
            snapshot.gone[row] = 1
            for number in columns.slots_of(row):
                _settle(fates, columns, number, account.GONE)
            continue
        if columns.kind[row] == LEAF:
            norm = gradient_norm(node)
            if norm is not None:
                snapshot.gradients[row] = norm
            continue
        for number, slot in zip(columns.slots_of(row), node.saved, strict=False):
            snapshot.slot_state[number] = STATES.index(slot.state)
            _settle(fates, columns, number, account.fate_of(slot))
        released = node.released
        if released is not None:
            if released.serial not in records:
                records[released.serial] = releases.add(ReleaseRecord.of(released))
            snapshot.release[row] = records[released.serial]
    snapshot.slot_fate = bytearray(fates[storage] for storage in columns.slot_storage)
    snapshot.releases = releases.values
    return snapshot


def _settle(fates: bytearray, columns: Columns, number: int, fate: str) -> None:
    if fate == account.GONE and columns.slot_flags[number] & FOREIGN:
        fate = account.FOREIGN
    storage = columns.slot_storage[number]
    fates[storage] = max(fates[storage], account.FATES.index(fate))


def gradient_norm(node: Any) -> float | None:
    """The Euclidean norm of what a leaf has accumulated; None without a gradient."""
    variable = getattr(node, "variable", None)  # a copy has none
    gradient = None if variable is None else variable.grad
    return None if gradient is None else norm_of(gradient)


def norm_of(tensor: Any) -> float:
    """The Euclidean norm, in double precision: the square of what a float32 holds may be more than it holds."""
    values = array_of(tensor).ravel()
    return float(numpy.linalg.norm(values.astype(numpy.float64) if values.dtype.kind == "f" else values))


def name_of(node: Node) -> str:
    """The class of a node: ``AddmmBackward0``."""
    return node.title if isinstance(node, CopiedNode) else type(node).__name__


def shape_text(shape: Sequence[int], dtype: object) -> str:
    """``(3, 4) float32``."""
    return f"{tuple(shape)} {dtype_name(dtype)}"


def outputs_text(node: Node) -> str:
    """The shapes of what the node computed."""
    return ", ".join(shape_text(shape, dtype) for shape, dtype in node.outputs if shape is not None)


def ordered(nodes: Sequence[Node]) -> list[Node]:
    """Operations in the order in which they ran: inputs before what uses them."""
    operations = [node for node in nodes if leaf_key(node) is None]
    rank = {node: number for number, node in enumerate(reversed(nodes))}
    # The clock gives the order of the program; where nodes were exchanged later (a view whose base was written in
    # place), only the order of the walk is sure to have inputs first.
    operations.sort(key=lambda node: node._sequence_nr())  # type: ignore[attr-defined]
    position = {node: number for number, node in enumerate(operations)}
    for node, number in position.items():
        for below, _ in node.next_functions:
            if below is not None and position.get(below, -1) > number:
                return sorted(operations, key=rank.__getitem__)
    return operations
