"""The graph, looked at: one traversal, and what can be told from it.

Nothing here changes a graph or costs anything until it is called: the engine records the line that made a node, what
the node saved and which call freed it, and these functions read that.
"""

from .draw import Film, draw, film
from .explain import explain
from .explanation import Explanation, LeafRecord, NodeRecord, Place, ReleaseRecord, SavedRecord, Totals
from .growth import GrowthWarning
from .modules import ModuleDiary, module_of, record_modules
from .picture import Picture
from .predict import predict_peak
from .step import Step, step
from .timeline import Series, Share, Timeline
from .walk import nearest, walk
from .watch import Watch, watch
from .why_alive import Holder, Holders, why_alive

__all__ = [
    "Explanation",
    "Film",
    "GrowthWarning",
    "Holder",
    "Holders",
    "LeafRecord",
    "ModuleDiary",
    "NodeRecord",
    "Picture",
    "Place",
    "ReleaseRecord",
    "SavedRecord",
    "Series",
    "Share",
    "Step",
    "Timeline",
    "Totals",
    "Watch",
    "draw",
    "explain",
    "film",
    "module_of",
    "nearest",
    "predict_peak",
    "record_modules",
    "step",
    "walk",
    "watch",
    "why_alive",
]
