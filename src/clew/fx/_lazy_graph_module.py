"""The name under which PyTorch makes graph modules whose code is written when they are first called."""

from __future__ import annotations

from typing import Any

from .graph_module import GraphModule

__all__ = ["_LazyGraphModule", "_make_graph_module"]

_LazyGraphModule = GraphModule


def _make_graph_module(*args: Any, graph_module_cls: type[GraphModule] | None = None, **kwargs: Any) -> GraphModule:
    return (graph_module_cls or GraphModule)(*args, **kwargs)
