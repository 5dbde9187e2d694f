"""The graph, looked at: one traversal, and what can be told from it.

Nothing here changes a graph or costs anything until it is called: the engine records the line that made a node, what
the node saved and which call freed it, and these functions read that.
"""

from .diff import Change, Diff, Snapshot, diff, snapshot
from .draw import draw
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
from .film import Film, film
from .gradient_flow import GradientFlow, LayerFlow, gradient_flow
from .growth import GrowthWarning
from .ledger import ledger
from .ledger_records import Ledger, LedgerRecord, LedgerTotals
from .modules import ModuleDiary, module_of, record_modules
from .picture import Picture
from .predict import predict_peak
from .step import Step, step
from .timeline import Series, Share, Timeline
from .walk import nearest, walk
from .watch import Watch, watch
from .why_alive import Holder, Holders, why_alive

__all__ = [
    "Change",
    "Diff",
    "Explanation",
    "Film",
    "GradientFlow",
    "GroupRecord",
    "GrowthWarning",
    "Holder",
    "Holders",
    "LayerFlow",
    "LeafRecord",
    "Ledger",
    "LedgerRecord",
    "LedgerTotals",
    "ModuleDiary",
    "NodeRecord",
    "Note",
    "Picture",
    "Place",
    "ReleaseRecord",
    "SavedRecord",
    "Series",
    "Share",
    "Snapshot",
    "Step",
    "Timeline",
    "Totals",
    "Watch",
    "diff",
    "draw",
    "explain",
    "film",
    "gradient_flow",
    "ledger",
    "module_of",
    "nearest",
    "predict_peak",
    "record_modules",
    "snapshot",
    "step",
    "walk",
    "watch",
    "why_alive",
]
