"""What :func:`clew.explain` found, as data. ``str`` of an :class:`Explanation` gives the text (see ``text.py``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.notebook import Shown
from ..model.places import Place, ReleaseRecord


@dataclass(frozen=True, slots=True)
class SavedRecord(Shown):
    """One tensor that a node saved.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> saved = clew.explain(loss).nodes[1].saved[0]
        >>> saved.name, saved.shape, saved.dtype, saved.nbytes, saved.state
        ('self', (1000,), 'float32', 4000, 'held')
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int  # of the whole storage; 0: not known any more
    view_nbytes: int  # of the part that was saved
    state: str  # "held", "packed" or "freed"
    storage: int  # equal numbers share memory; 0: not known
    shared_with: str | None  # "other of #3", "leaf #4": who was listed first with the same memory
    is_foreign: bool
    version: int
    current_version: int
    fate: str = ""  # of what was freed: "released" to the allocator; "dropped": others had it; "elsewhere": graphs
    still_held_by: tuple[str, ...] = ()  # of what was dropped: what the user calls those that have it still

    @property
    def is_stale(self) -> bool:
        """Whether the tensor was modified in place after it was saved."""
        return self.state == "held" and self.version != self.current_version


@dataclass(frozen=True, slots=True)
class LeafRecord(Shown):
    """The leaf to whose gradient an ``AccumulateGrad`` node adds; ``is_gone`` if the leaf was freed.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> leaf = clew.explain(loss, params={"x": x}).nodes[2].leaf
        >>> leaf.name, leaf.shape, leaf.is_gone
        ('x', (1000,), False)
    """

    name: str | None
    shape: tuple[int, ...]
    dtype: str
    is_gone: bool


@dataclass(frozen=True, slots=True)
class NodeRecord(Shown):
    """One node. Records refer to each other by their index in :attr:`Explanation.nodes`.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> [(node.name, node.inputs) for node in clew.explain(loss).nodes]
        [('SumBackward0', (1,)), ('MulBackward0', (2, 2)), ('AccumulateGrad', ())]
    """

    name: str
    op: str
    made_at: Place | None
    outputs: tuple[tuple[tuple[int, ...], str], ...]
    saved: tuple[SavedRecord, ...]
    inputs: tuple[int | None, ...]  # None: an input that needs no gradient; nodes that are not described are left out
    hidden_inputs: int  # how many were left out
    parent: int | None  # the node under which this one is printed
    released: ReleaseRecord | None
    nbytes: int
    leaf: LeafRecord | None
    module: str | None = None  # "model.3 · Linear": the module that created it, with its class, where that is known


@dataclass(slots=True)
class Totals(Shown):
    """Sums over the whole graph, described or not. Bytes count a storage once, however many slots share it.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> totals = clew.explain(loss).totals
        >>> totals.nodes, totals.leaves, totals.slots, totals.held_bytes
        (2, 1, 2, 4000)
    """

    nodes: int = 0
    leaves: int = 0
    node_bytes: int = 0
    held: int = 0
    packed: int = 0
    freed: int = 0
    held_bytes: int = 0
    foreign_bytes: int = 0
    freed_bytes: int = 0  # of storages that a backward made the nodes let go
    released_bytes: int = 0  # of freed_bytes, what went back to the allocator with it; the rest was dropped only
    elsewhere_bytes: int = 0  # of freed_bytes, what other graphs held
    graph_only_bytes: int = 0  # of held_bytes, what no living tensor has: with the last reference to the graph it goes
    staying_bytes: int = 0  # of that, what other living tensors' graphs hold too
    shared_bytes: int = 0  # the rest of held_bytes: living tensors have it too
    goes_with: tuple[str, ...] = ()  # what the user calls the tensors that were asked about
    shared_with: tuple[str, ...] = ()  # what the user calls those that have the shared bytes
    still_held_by: tuple[str, ...] = ()  # what the user calls those that have what was dropped
    releases: list[ReleaseRecord] = field(default_factory=list)

    @property
    def slots(self) -> int:
        """How many tensors the graph saved."""
        return self.held + self.packed + self.freed

    @property
    def dropped_bytes(self) -> int:
        """Of ``freed_bytes``, what no graph holds any more but something else does."""
        return self.freed_bytes - self.released_bytes - self.elsewhere_bytes


@dataclass(frozen=True, slots=True)
class Note(Shown):
    """A line about an exception: ``freed at train.py:5 in main``.

    Example:
        >>> x = clew.ones(2, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> loss.backward()
        >>> try:
        ...     loss.backward()
        ... except RuntimeError as error:
        ...     "freed at" in [note.label for note in clew.explain(error).notes]
        True
    """

    label: str
    text: str
    place: Place | None

    def __str__(self) -> str:
        return f"{self.label} {self.place or self.text}"


@dataclass(frozen=True, slots=True)
class GroupRecord(Shown):
    """Nodes of the same operation, line and shape, of a graph that has too many to show.

    Example:
        >>> y = clew.ones(2, requires_grad=True)
        >>> for _ in range(10):
        ...     y = y * 2
        >>> [(group.name, group.nodes) for group in clew.explain(y, limit=1).groups if group.nodes > 1]
        [('MulBackward0', 10)]
    """

    name: str
    made_at: Place | None
    shape: tuple[int, ...] | None
    dtype: str
    nodes: int
    slots: int
    nbytes: int  # of what they saved, held or freed: each storage once, at the first group that has it


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The answer of :func:`clew.explain`: a graph, or the reason why there is none.

    ``subject`` is what was asked about, and ``remark`` adds to it. ``nodes`` is in the order of the printed text, so
    ``#3`` in the text is ``nodes[2]``. ``groups`` sums up a graph of which not all nodes are described. The answer
    holds neither tensors nor nodes of the graph.

    Example:
        >>> x = clew.ones(1000, requires_grad=True)
        >>> loss = (x * x).sum()
        >>> explanation = clew.explain(loss)
        >>> len(explanation.nodes), explanation.hidden
        (3, 0)
    """

    subject: str
    remark: str
    nodes: tuple[NodeRecord, ...]
    totals: Totals
    lost_at: Place | None = None
    lost_by: str | None = None
    notes: tuple[Note, ...] = ()
    groups: tuple[GroupRecord, ...] = ()

    @property
    def hidden(self) -> int:
        """How many nodes the graph has that ``nodes`` leaves out."""
        return self.totals.nodes + self.totals.leaves - len(self.nodes)

    def __str__(self) -> str:
        from .text import render

        return render(self)

    __repr__ = __str__

    def show(self) -> None:
        """Print it: with colour if stdout is a terminal and ``rich`` is installed."""
        from .rich_text import show

        show(self)

    def __rich__(self) -> object:
        from .rich_text import renderable

        return renderable(self)

    def _repr_html_(self) -> str:
        from .notebook import as_html

        return as_html(self)
