"""A live graph in the formats of other viewers: the same nodes, edges, shapes and scopes in each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import nn

pytestmark = pytest.mark.beyond

Edges = set[tuple[str, int, str, int]]  # from which output of which node to which input of which node


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.blocks = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

    def forward(self, x: Any) -> Any:
        left, right = self.blocks(self.first(x)).split(2, dim=1)
        return left * right.exp()


@pytest.fixture
def model() -> Net:
    return Net()


@pytest.fixture
def loss(model: Net) -> Any:
    with clew.graph.record_modules():
        return model(clew.ones(5, 3)).sum()


def read_json(path: Path) -> tuple[dict[str, str], Edges, dict[str, str]]:
    """Operations by name, edges, and the scopes of the nodes."""
    (graph,) = json.loads(path.read_text())["graphs"]
    edges = {
        (edge["sourceNodeId"], int(edge["sourceNodeOutputId"]), node["id"], int(edge["targetNodeInputId"]))
        for node in graph["nodes"]
        for edge in node["incomingEdges"]
    }
    return (
        {node["id"]: node["label"] for node in graph["nodes"]},
        edges,
        {node["id"]: node["namespace"] for node in graph["nodes"]},
    )


def read_onnx(path: Path) -> tuple[dict[str, str], Edges]:
    onnx = pytest.importorskip("onnx")
    graph = onnx.load(path).graph
    source = {value: (node.name, at) for node in graph.node for at, value in enumerate(node.output)}
    source |= {one.name: (one.name, 0) for one in graph.input}
    edges = {
        (*source[value], node.name.removeprefix("result/"), at)
        for node in graph.node
        for at, value in enumerate(node.input)
        if value
    }
    return {node.name.removeprefix("result/"): node.op_type for node in graph.node}, edges


def read_pbtxt(path: Path) -> tuple[dict[str, str], Edges]:
    pytest.importorskip("tensorboard")
    from google.protobuf import text_format
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    graph = text_format.Parse(path.read_text(), GraphDef())
    edges = set()
    for node in graph.node:
        for at, value in enumerate(node.input):
            name, _, output = value.partition(":")
            edges.add((name, int(output or 0), node.name, at))
    return {node.name: node.op for node in graph.node}, edges


def test_model_explorer_has_every_node_and_edge(model: Net, loss: Any, tmp_path: Path) -> None:
    labels, edges, _ = read_json(clew.graph.export(loss, tmp_path / "graph.json", dict(model.named_parameters())))
    nodes = clew.graph.walk([loss.grad_fn])
    assert len(labels) == len(nodes) + 1  # the result
    assert len(edges) == sum(below is not None for node in nodes for below, _ in node.next_functions) + 1
    operations = sorted(node.op for node in nodes if not isinstance(node, clew._core.AccumulateGrad))
    leaves = sorted(name.rpartition(".")[2] for name, _ in model.named_parameters())
    assert sorted(labels.values()) == sorted([*operations, *leaves, "result"])
    second_half = {output for source, output, *_ in edges if labels[source] == "split"}
    assert second_half == {0, 1}


def test_scopes_are_modules(model: Net, loss: Any, tmp_path: Path) -> None:
    labels, _, scopes = read_json(clew.graph.export(loss, tmp_path / "graph.json", dict(model.named_parameters())))
    assert {name: scopes[name] for name, label in labels.items() if label == "weight"} == {
        f"{scope}/weight": scope
        for scope in ("Net/Linear[first]", "Net/Sequential[blocks]/Linear[0]", "Net/Sequential[blocks]/Linear[2]")
    }
    (relu,) = (scopes[name] for name, label in labels.items() if label == "relu")
    assert relu == "Net/Sequential[blocks]/ReLU[1]"
    (exp,) = (scopes[name] for name, label in labels.items() if label == "exp")
    assert exp == "Net"


def test_without_a_log_of_modules_parameters_tell_scopes(model: Net, tmp_path: Path) -> None:
    loss = model(clew.ones(5, 3)).sum()
    while clew.graph.module_of(loss.grad_fn):  # the log of another test
        with clew.graph.record_modules():
            pass
    path = clew.graph.export(loss, tmp_path / "graph.json", dict(model.named_parameters()))
    _, _, scopes = read_json(path)
    assert scopes["blocks/2/weight"] == scopes["blocks/2/addmm"] == "blocks/2"


@pytest.mark.parametrize(("suffix", "read"), [("onnx", read_onnx), ("pbtxt", read_pbtxt)])
def test_other_formats_have_the_same_graph(suffix: str, read: Any, model: Net, loss: Any, tmp_path: Path) -> None:
    pytest.importorskip({"onnx": "onnx", "pbtxt": "tensorboard"}[suffix])
    params = dict(model.named_parameters())
    labels, edges, _ = read_json(clew.graph.export(loss, tmp_path / "graph.json", params))
    names, its_edges = read(clew.graph.export(loss, tmp_path / f"graph.{suffix}", params))
    if suffix == "pbtxt":  # an input without history has no place there, so later ones move up
        edges, its_edges = ({edge[:3] for edge in one} for one in (edges, its_edges))  # type: ignore[misc]
    assert its_edges == edges
    operations = {name: label for name, label in labels.items() if label not in ("weight", "bias", "result")}
    assert {name: op for name, op in names.items() if name in operations} == operations


def test_without_params_leaves_are_called_as_the_program_calls_them(tmp_path: Path) -> None:
    lstm = nn.LSTM(2, 3)
    path = clew.graph.export(lstm(clew.ones(4, 1, 2))[0].sum(), tmp_path / "graph.json")
    leaves = {name for name in read_json(path)[0] if "weight" in name or "bias" in name}
    assert leaves == {f"lstm/{name}" for name, _ in lstm.named_parameters()}


def test_onnx_passes_its_checker_and_has_shapes(model: Net, loss: Any, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    loaded = onnx.load(clew.graph.export(loss, tmp_path / "graph.onnx", dict(model.named_parameters())))
    onnx.checker.check_model(loaded)
    shapes = {one.name: [d.dim_value for d in one.type.tensor_type.shape.dim] for one in loaded.graph.input}
    expected = {name.replace(".", "/"): list(one.shape) for name, one in model.named_parameters()}
    assert sorted(shapes.values()) == sorted(expected.values())
    assert all(node.domain == "clew" for node in loaded.graph.node if node.op_type != "Identity")
    (split,) = (node for node in loaded.graph.node if node.op_type == "split")
    values = {one.name: [d.dim_value for d in one.type.tensor_type.shape.dim] for one in loaded.graph.value_info}
    assert [values[name] for name in split.output] == [[5, 2], [5, 2]]
    assert "test_export.py" in split.doc_string


NODE = {"id", "label", "namespace", "subgraphIds", "attrs", "incomingEdges", "outputsMetadata", "inputsMetadata"}


def test_model_explorer_has_the_documented_fields(model: Net, loss: Any, tmp_path: Path) -> None:
    """As in https://github.com/google-ai-edge/model-explorer/wiki and its ``graph_builder.py``: all values are text."""
    collection = json.loads(clew.graph.export(loss, tmp_path / "graph.json").read_text())
    assert collection.keys() == {"label", "graphs"}
    (graph,) = collection["graphs"]
    assert graph.keys() == {"id", "nodes"}
    identities = [node["id"] for node in graph["nodes"]]
    assert len(set(identities)) == len(identities)
    for node in graph["nodes"]:
        assert {"id", "label"} <= node.keys() <= NODE
        assert all(isinstance(node[key], str) for key in ("id", "label", "namespace"))
        for edge in node["incomingEdges"]:
            assert edge.keys() == {"sourceNodeId", "sourceNodeOutputId", "targetNodeInputId"}
            assert edge["sourceNodeId"] in identities
            assert all(isinstance(value, str) for value in edge.values())
        for item in [*node["attrs"], *(pair for one in node["outputsMetadata"] for pair in one["attrs"])]:
            assert item.keys() == {"key", "value"}
            assert all(isinstance(value, str) for value in item.values())
    shapes = {pair["value"] for node in graph["nodes"] for one in node["outputsMetadata"] for pair in one["attrs"]}
    assert {"float32[5,4]", "float32[]"} <= shapes


def test_a_function_a_leaf_that_is_gone_and_several_results(tmp_path: Path) -> None:
    x = clew.ones(2, requires_grad=True)
    y, z = x.exp(), x.sin()
    w = clew.ones(2, requires_grad=True) * 2  # its leaf is gone
    labels, edges, _ = read_json(clew.graph.export({"a": y, "b": z, "c": w}, tmp_path / "graph.json", {"x": x}))
    assert {"x", "result['a']", "result['b']", "result['c']"} <= labels.keys()
    assert {("x", 0, "exp", 0), ("x", 0, "sin", 0), ("exp", 0, "result['a']", 0)} <= edges
    assert list(labels.values()).count("leaf") == 1


@pytest.mark.parametrize(
    ("x", "name", "error"),
    [
        (None, "graph.json", TypeError),
        (clew.ones(2), "graph.json", ValueError),
        (clew.ones(2, requires_grad=True).exp(), "graph.txt", ValueError),
    ],
)
def test_what_cannot_be_exported(x: Any, name: str, error: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(error, match="export: expected"):
        clew.graph.export(x, tmp_path / name)
    assert not (tmp_path / name).exists()
