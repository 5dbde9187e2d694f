"""A graph as TensorBoard's graph tab reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .nodes import LEAF, RESULT, ExportedNode

if TYPE_CHECKING:
    from tensorboard.compat.proto.graph_pb2 import GraphDef

_PRODUCER = 22  # the version of the format


def as_graph_def(nodes: Sequence[ExportedNode]) -> GraphDef:
    """The nodes in TensorFlow's message, whose scopes TensorBoard folds.

    Raises:
        ImportError: tensorboard is not installed.
    """
    try:
        from tensorboard.compat.proto.attr_value_pb2 import AttrValue
        from tensorboard.compat.proto.graph_pb2 import GraphDef
        from tensorboard.compat.proto.node_def_pb2 import NodeDef
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
        from tensorboard.compat.proto.versions_pb2 import VersionDef
    except ImportError:
        raise ImportError("export: needs the package tensorboard; pip install 'clew[tensorboard]'") from None

    def shapes(one: ExportedNode) -> dict[str, AttrValue]:
        known = [shape for shape, _ in one.outputs if shape is not None]
        listed = [TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape]) for shape in known]
        return {"_output_shapes": AttrValue(list=AttrValue.ListValue(shape=listed))} if known else {}

    written = [
        NodeDef(
            name=one.name,
            op={LEAF: one.op, RESULT: "IO Node"}.get(one.kind, one.op),
            input=[f"{name}:{output}" if output else name for name, output in filter(None, one.inputs)],
            attr=shapes(one),
        )
        for one in nodes
    ]
    return GraphDef(node=written, versions=VersionDef(producer=_PRODUCER))
