"""A model's graph in TensorBoard's format: what its forward recorded, in the scopes of its modules."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from ..._core import Tensor
from ...autograd import enable_grad
from ...graph import ModuleLog, record_modules, walk

_PRODUCER = 22  # the version of the format
Path = tuple[Any, ...]


def graph(model: Any, inputs: Any) -> tuple[GraphDef, RunMetadata]:
    """The graph of `model(*inputs)`, and the device that TensorBoard colours it by.

    The model is called once, in evaluation mode. What depends on no floating input or parameter is not recorded.
    """
    arguments = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    with _evaluating(model), _all_require_grad(model), enable_grad(), record_modules() as module_log:
        given = [_watched(one) for one in arguments]
        outputs = model(*given)
        nodes = _Writer(model, given, module_log).written(outputs)
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=nodes, versions=VersionDef(producer=_PRODUCER)), stats


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    training = getattr(model, "training", None)
    if training is None:  # a function
        yield
        return
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def _all_require_grad(model: Any) -> Iterator[None]:
    """Parameters that are frozen require a gradient meanwhile, so that their operations are recorded."""
    parameters = model.parameters() if hasattr(model, "parameters") else ()
    frozen = [one for one in parameters if not one.requires_grad and one.dtype.is_floating_point]
    try:
        for one in frozen:
            one.requires_grad_(True)
        yield
    finally:
        for one in frozen:
            one.requires_grad_(False)


def _watched(value: Any) -> Any:
    """The tensors in it as leaves that require a gradient, where their dtype has one."""
    return _tree(value, lambda x: x.detach().requires_grad_() if x.dtype.is_floating_point else x)


def _tree(value: Any, change: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _tree(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        changed = [_tree(one, change) for one in value]
        return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)
    return value


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    _tree(value, found.append)
    return found


class _Writer:
    """Names the nodes of one graph, and writes them: what is used before what uses it."""

    def __init__(self, model: Any, inputs: list[Any], module_log: ModuleLog) -> None:
        self._model, self._module_log = model, module_log
        self._root = type(model).__name__ if hasattr(model, "named_modules") else getattr(model, "__name__", "graph")
        self._leaves = dict(self._named_parameters())
        self._leaves |= {id(x): f"input/{name}" for name, x in self._named_inputs(inputs)}
        self._inputs = inputs
        self._names: dict[Any, str] = {}
        self._counts: Counter[str] = Counter()

    def written(self, outputs: Any) -> list[NodeDef]:
        results = _tensors(outputs)
        nodes = walk([x.grad_fn for x in results if x.grad_fn is not None])
        found = [self._input(name, x) for name, x in self._named_inputs(self._inputs)]
        for node in reversed(nodes):
            name = self._leaves.get(id(getattr(node, "variable", None)), "")
            if name.startswith("input/"):  # written already
                self._names[node] = name
            else:
                found.append(self._leaf(node) if hasattr(node, "variable") else self._operation(node))
        return found + [self._output(number, x) for number, x in enumerate(results, 1)]

    def _named_parameters(self) -> Iterator[tuple[int, str]]:
        if hasattr(self._model, "named_modules"):
            for path, module in self._model.named_modules():
                for name, parameter in module.named_parameters(recurse=False):
                    yield id(parameter), f"{self._scope(path)}/{name}"

    def _named_inputs(self, inputs: list[Any]) -> Iterator[tuple[str, Tensor]]:
        try:
            names = list(inspect.signature(getattr(self._model, "forward", self._model)).parameters)
        except (TypeError, ValueError):
            names = []
        for place, value in enumerate(inputs):
            name = names[place] if place < len(names) else f"input.{place + 1}"
            tensors = _tensors(value)
            for number, x in enumerate(tensors):
                yield (name if len(tensors) == 1 else f"{name}.{number}"), x

    def _scope(self, path: str) -> str:
        """`Net/Sequential[layers]/Linear[0]` of `layers.0`."""
        scope, module = self._root, self._model
        for name in path.split(".") if path else ():
            module = getattr(module, name, None)
            scope += f"/{name}" if module is None else f"/{type(module).__name__}[{name}]"
        return scope

    def _unique(self, name: str) -> str:
        self._counts[name] += 1
        return name if self._counts[name] == 1 else f"{name}_{self._counts[name] - 1}"

    def _operation(self, node: Any) -> NodeDef:
        path = self._module_log.path_at(node._sequence_nr()) or ""  # "Net.layers.0"
        scope = self._scope(path.partition(".")[2])
        self._names[node] = self._unique(f"{scope}/{node.op}")
        below = [(one, output) for one, output in node.next_functions if one is not None]
        inputs = [self._names[one] + _slot(output) for one, output in below]
        return _node(self._names[node], node.op, inputs, [shape for shape, _ in node.outputs])

    def _leaf(self, node: Any) -> NodeDef:
        leaf = node.variable
        self._names[node] = self._unique(self._leaves.get(id(leaf), f"{self._root}/constant"))
        return _node(self._names[node], "Parameter", [], [tuple(leaf.shape)])

    def _input(self, name: str, x: Tensor) -> NodeDef:
        return _node(f"input/{name}", "IO Node", [], [tuple(x.shape)])

    def _output(self, number: int, x: Tensor) -> NodeDef:
        name = self._leaves.get(id(x)) if x.grad_fn is None else self._names[x.grad_fn] + _slot(x.output_nr)
        return _node(f"output/output.{number}", "IO Node", [name] if name else [], [tuple(x.shape)])


def _slot(output: int) -> str:
    """Which output of a node an edge comes from; nothing for the first."""
    return f":{output}" if output else ""


def _node(name: str, op: str, inputs: list[str], shapes: list[tuple[int, ...] | None]) -> NodeDef:
    known = [
        TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])
        for shape in shapes
        if shape is not None
    ]
    attributes = {"_output_shapes": AttrValue(list=AttrValue.ListValue(shape=known))} if known else {}
    return NodeDef(name=name, op=op, input=inputs, attr=attributes)
