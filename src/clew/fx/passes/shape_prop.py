"""Notes shapes and dtypes of the values of a graph."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import clew
from clew import Tensor

from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is noted of a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    known = clew.contiguous_format if include_contiguity and result.is_contiguous() else None
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), known, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and notes in `meta["tensor_meta"]` of its nodes what their values are.

    Args:
        gm: the module.
        fake_mode: where it is given, whatever it is, nothing is computed: shapes come of tensors on "meta".

    Example:
        >>> from torch.fx.passes.shape_prop import ShapeProp
        >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(3, 4)))
        >>> _ = ShapeProp(traced).propagate(torch.zeros(2, 3))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
        [(2, 3), (2, 4), (2, 4)]
    """

    def __init__(self, gm: GraphModule, fake_mode: Any | None = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode
        if fake_mode is not None:
            self.module = copy.deepcopy(gm).to("meta")

    def run_node(self, n: Node) -> Any:
        """The value, of which the node takes note."""
        result = super().run_node(n)
        found = False

        def noted(value: Any) -> Any:
            nonlocal found
            found = found or isinstance(value, Tensor)
            return _extract_tensor_metadata(value) if isinstance(value, Tensor) else value

        meta = map_aggregate(result, noted)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with these arguments, and give its result."""
        if self.fake_mode is not None:
            args = tuple(one.to("meta") if isinstance(one, Tensor) else one for one in args)
        return super().run(*args)
