"""`PassBase`: a function from a graph module to a changed one, with checks before and after."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module, and whether the pass changed it."""

    graph_module: GraphModule
    modified: bool


class PassBase:
    """A pass: subclass it and write `call`.

    Example:
        >>> from torch.fx.passes.infra.pass_base import PassBase, PassResult
        >>> class DropDead(PassBase):
        ...     def call(self, graph_module):
        ...         return PassResult(graph_module, graph_module.graph.eliminate_dead_code())
        >>> DropDead()(torch.fx.symbolic_trace(lambda x: x + 1)).modified
        False
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change the module; every pass defines it."""
        raise NotImplementedError(f"{type(self).__name__}: a pass defines `call`")

    def requires(self, graph_module: GraphModule) -> Any:
        """Raise where the module is none that the pass takes."""

    def ensures(self, graph_module: GraphModule) -> Any:
        """Raise where the module is not as the pass should leave it."""
