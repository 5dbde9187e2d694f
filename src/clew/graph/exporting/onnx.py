"""A graph as an ONNX model that shows its structure, such as for Netron; it cannot be run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .nodes import LEAF, OPERATION, RESULT, ExportedNode, Output

DOMAIN = "clew"  # of the operations: ONNX's own have other names and arguments
IR_VERSION = 8


def as_onnx(nodes: Sequence[ExportedNode]) -> bytes:
    """Leaves are inputs of the model, operations its nodes, results its outputs.

    Raises:
        ImportError: onnx is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise ImportError("export: needs the package onnx; pip install 'clew[onnx]'") from None
    helper = onnx.helper
    operations = [
        helper.make_node(
            one.op,
            ["" if source is None else _value(*source) for source in one.inputs],
            [_value(one.name, number) for number in range(max(1, len(one.outputs)))],
            name=one.name,
            domain=DOMAIN,
            doc_string=str(one.place) if one.place else None,
        )
        for one in nodes
        if one.kind == OPERATION
    ]
    results = [one for one in nodes if one.kind == RESULT and one.inputs]
    operations += [
        helper.make_node("Identity", [_value(*source)], [one.name], name=f"result/{one.name}")
        for one in results
        for source in one.inputs
        if source is not None
    ]
    graph = helper.make_graph(
        operations,
        "graph",
        [_typed(onnx, _value(one.name, 0), one.outputs[:1]) for one in nodes if one.kind == LEAF],
        [_typed(onnx, one.name, one.outputs) for one in results],
        value_info=[
            _typed(onnx, _value(one.name, number), [output])
            for one in nodes
            if one.kind == OPERATION
            for number, output in enumerate(one.outputs)
            if output[0] is not None
        ],
    )
    domains = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, producer_name="clew", ir_version=IR_VERSION, opset_imports=domains)
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def _value(name: str, output: int) -> str:
    return f"{name}:{output}" if output else name


def _typed(onnx: Any, name: str, outputs: Sequence[Output]) -> Any:
    shape, dtype = outputs[0] if outputs else (None, "")
    kinds = {"float32": "FLOAT", "float64": "DOUBLE", "complex64": "COMPLEX64", "complex128": "COMPLEX128"}
    kind = kinds.get(dtype, dtype.upper())
    known = onnx.TensorProto.DataType.keys()
    return onnx.helper.make_tensor_value_info(
        name, getattr(onnx.TensorProto, kind if kind in known else "FLOAT"), shape
    )
