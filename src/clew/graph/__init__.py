"""The graph, looked at: one traversal, and what can be told from it.

Nothing here changes a graph or costs anything until it is called: the engine records the line that made a node, what
the node saved and which call freed it, and these functions read that. PyTorch has no names for them. Its own
``torch.autograd.graph``, hooks that change what a graph saves and which gradients flow, is ``clew.autograd.graph``.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .explanations.explain import explain
from .explanations.explanation import Explanation, GroupRecord, LeafRecord, NodeRecord, Note, SavedRecord, Totals
from .exporting.export import export
from .freezing.files import freeze, leaves, thaw
from .gradients.gradient_flow import GradientFlow, LayerFlow, gradient_flow
from .gradients.histograms import Histogram
from .gradients.stats import ModuleStats, Stats, stats
from .gradients.step import Step, step
from .iterations.diff import Change, Diff, Kind, KindCount, diff
from .iterations.growth import GrowthWarning
from .iterations.snapshot import Snapshot, snapshot
from .iterations.watch import Watch, watch
from .memory.ledger import ledger
from .memory.ledger_records import Ledger, LedgerRecord, LedgerTotals
from .memory.predict import predict_peak
from .memory.timeline import Timeline
from .memory.timeline_records import Series, Share
from .memory.why_alive import Holder, Holders, why_alive
from .model.places import Place, ReleaseRecord
from .model.walk import nearest, walk
from .pictures.draw import draw
from .pictures.film import Film, film
from .pictures.picture import Picture
from .program.modules import ModuleLog, module_of, record_modules
from .pruning.verbs import cut, free

if _TYPE_CHECKING:
    from .numerics.precision import LineRecord, Precision, ResultRecord, precision
    from .numerics.why_grad import PathStep, WhyGrad, why_grad

_NUMERICS = {
    **dict.fromkeys(("LineRecord", "Precision", "ResultRecord", "precision"), "precision"),
    **dict.fromkeys(("PathStep", "WhyGrad", "why_grad"), "why_grad"),
}


def __getattr__(name: str) -> _Any:
    if name not in _NUMERICS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f"{__name__}.numerics.{_NUMERICS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NUMERICS})


__all__ = [
    "Change",
    "Diff",
    "Explanation",
    "Film",
    "GradientFlow",
    "GroupRecord",
    "GrowthWarning",
    "Histogram",
    "Holder",
    "Holders",
    "Kind",
    "KindCount",
    "LayerFlow",
    "LeafRecord",
    "Ledger",
    "LedgerRecord",
    "LedgerTotals",
    "LineRecord",
    "ModuleLog",
    "ModuleStats",
    "NodeRecord",
    "Note",
    "PathStep",
    "Picture",
    "Place",
    "Precision",
    "ReleaseRecord",
    "ResultRecord",
    "SavedRecord",
    "Series",
    "Share",
    "Snapshot",
    "Stats",
    "Step",
    "Timeline",
    "Totals",
    "Watch",
    "WhyGrad",
    "cut",
    "diff",
    "draw",
    "explain",
    "export",
    "film",
    "free",
    "freeze",
    "gradient_flow",
    "leaves",
    "ledger",
    "module_of",
    "nearest",
    "precision",
    "predict_peak",
    "record_modules",
    "snapshot",
    "stats",
    "step",
    "thaw",
    "walk",
    "watch",
    "why_alive",
    "why_grad",
]
