"""A model's graph in TensorBoard's format: what its forward recorded, in the scopes of its modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats

from ... import _core
from ..._core import Tensor
from ...autograd import enable_grad
from ...graph import ModuleLog, record_modules
from ...graph.exporting.nodes import RESULT, ExportedNode, exported
from ...graph.exporting.tensorboard import as_graph_def
from ...graph.pictures.data_inputs import names_by_storage

Path = tuple[Any, ...]


def graph(model: Any, inputs: Any) -> tuple[GraphDef, RunMetadata]:
    """The graph of `model(*inputs)`, and the device that TensorBoard colours it by.

    The model is called once, in evaluation mode. What depends on no floating input or parameter is not recorded.
    """
    arguments = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    with _evaluating(model), _all_require_grad(model), enable_grad(), record_modules() as module_log:
        given = [_watched(one) for one in arguments]
        outputs = model(*given)
        nodes = _Writer(model, given, module_log).nodes(outputs)
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return as_graph_def(nodes), stats


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
    """Names the nodes of one graph."""

    def __init__(self, model: Any, inputs: list[Any], module_log: ModuleLog) -> None:
        self._model, self._module_log = model, module_log
        self._root = type(model).__name__ if hasattr(model, "named_modules") else getattr(model, "__name__", "graph")
        self._parameters = dict(self._named_parameters())
        self._inputs = dict(self._named_inputs(inputs))

    def nodes(self, outputs: Any) -> list[ExportedNode]:
        results = {f"output/output.{number}": x for number, x in enumerate(_tensors(outputs), 1)}
        inputs = {id(x): name for name, x in self._inputs.items()}
        data = names_by_storage({name: x for name, x in self._inputs.items() if not x.requires_grad})
        found = exported(results, self._scope_of, self._leaf_name, inputs, data)
        return [self._input(name, x) for name, x in self._inputs.items()] + found

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
                yield f"input/{name}" if len(tensors) == 1 else f"input/{name}.{number}", x

    def _scope(self, path: str) -> str:
        """`Net/Sequential[layers]/Linear[0]` of `layers.0`."""
        scope, module = self._root, self._model
        for name in path.split(".") if path else ():
            module = getattr(module, name, None)
            scope += f"/{name}" if module is None else f"/{type(module).__name__}[{name}]"
        return scope

    def _scope_of(self, node: Any) -> str:
        path = self._module_log.path_at(node._sequence_nr()) or ""  # "Net.layers.0"
        return self._scope(path.partition(".")[2])

    def _leaf_name(self, leaf: Any) -> str:
        return self._parameters.get(id(leaf), f"{self._root}/constant")

    def _input(self, name: str, x: Tensor) -> ExportedNode:
        return ExportedNode(RESULT, name, "result", (), ((tuple(x.shape), _core.dtype_name(x.dtype)),))
