"""A graph as the JSON that Google's Model Explorer reads: a collection of one graph, modules as namespaces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..model.wording import bytes_text
from .nodes import LEAF, ExportedNode, Output


def as_model_explorer(nodes: Sequence[ExportedNode], title: str) -> str:
    """The text of a file that ``model-explorer graph.json`` opens."""
    graph = {"id": title, "nodes": [_node(one) for one in nodes]}
    return json.dumps({"label": title, "graphs": [graph]}, ensure_ascii=False, indent=1)


def _node(one: ExportedNode) -> dict[str, Any]:
    attributes = {
        "line": str(one.place) if one.place else "",
        "source": one.place.source if one.place else "",
        "saved": bytes_text(one.saved_bytes) if one.saved_bytes else "",
    }
    return {
        "id": one.name,
        "label": one.label if one.kind == LEAF else one.op,
        "namespace": one.scope,
        "attrs": [{"key": key, "value": value} for key, value in attributes.items() if value],
        "incomingEdges": [
            {"sourceNodeId": source[0], "sourceNodeOutputId": str(source[1]), "targetNodeInputId": str(number)}
            for number, source in enumerate(one.inputs)
            if source is not None
        ],
        "outputsMetadata": [
            {"id": str(number), "attrs": [{"key": "tensor_shape", "value": _shape(output)}]}
            for number, output in enumerate(one.outputs)
            if output[0] is not None
        ],
    }


def _shape(output: Output) -> str:
    """``float32[2,3]``, as its own adapters write it."""
    return f"{output[1]}[{','.join(map(str, output[0] or ()))}]"
