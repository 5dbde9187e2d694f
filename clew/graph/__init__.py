"""The graph, looked at: one traversal, and what can be told from it.

Nothing here changes a graph or costs anything until it is called: the engine records the line that made a node, what
the node saved and which call freed it, and these functions read that.
"""

from .diff import Change, Diff, Snapshot, diff, snapshot
from .explain import explain
from .explanation import (
    Explanation,
    GroupRecord,
    LeafRecord,
    NodeRecord,
    Note,
    Place,
    ReleaseRecord,
    SavedRecord,
    Totals,
)
from .gradient_flow import GradientFlow, LayerFlow, gradient_flow
from .ledger import ledger
from .ledger_records import Ledger, LedgerRecord, LedgerTotals
from .walk import nearest, walk
from .why_alive import Holder, Holders, why_alive

__all__ = [
    "Change",
    "Diff",
    "Explanation",
    "GradientFlow",
    "GroupRecord",
    "Holder",
    "Holders",
    "LayerFlow",
    "LeafRecord",
    "Ledger",
    "LedgerRecord",
    "LedgerTotals",
    "NodeRecord",
    "Note",
    "Place",
    "ReleaseRecord",
    "SavedRecord",
    "Snapshot",
    "Totals",
    "diff",
    "explain",
    "gradient_flow",
    "ledger",
    "nearest",
    "snapshot",
    "walk",
    "why_alive",
]
