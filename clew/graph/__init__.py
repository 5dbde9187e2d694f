"""The graph, looked at: one traversal, and what can be told from it.

Nothing here changes a graph or costs anything until it is called: the engine records the line that made a node, what
the node saved and which call freed it, and these functions read that.
"""

from .draw import draw
from .explain import explain
from .explanation import Explanation, LeafRecord, NodeRecord, Place, ReleaseRecord, SavedRecord, Totals
from .film import Film, film
from .picture import Picture
from .walk import nearest, walk
from .why_alive import Holder, Holders, why_alive

__all__ = [
    "Explanation",
    "Film",
    "Holder",
    "Holders",
    "LeafRecord",
    "NodeRecord",
    "Picture",
    "Place",
    "ReleaseRecord",
    "SavedRecord",
    "Totals",
    "draw",
    "explain",
    "film",
    "nearest",
    "walk",
    "why_alive",
]
