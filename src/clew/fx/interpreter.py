"""`Interpreter` runs a graph node by node; `Transformer` makes another graph of one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from inspect import Signature
from typing import Any

from ..nn.modules.module import Module
from . import traceback as fx_traceback
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node. Override its methods to look on, or to run nodes in another way.

    Args:
        module: a graph module; or any, with a graph for which it has the parameters and modules.
        garbage_collect_values: forget values that no later node uses. `env` has all of them otherwise.
        graph: the graph, where it is not the module's.

    Example:
        >>> class Swapped(torch.fx.Interpreter):
        ...     def call_function(self, target, args, kwargs):
        ...         return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)
        >>> Swapped(torch.fx.symbolic_trace(lambda x: torch.relu(x))).run(torch.tensor(3.0))
        tensor(-3.)
    """

    graph: Graph

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module: Any = module
        self.submodules = dict(module.named_modules())
        self.graph = self.module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for user in reversed(self.graph.nodes) if garbage_collect_values else ():
            for used in user.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    self.user_to_last_uses.setdefault(user, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The result for these arguments.

        Args:
            args: the arguments, by their positions.
            initial_env: values of some nodes, which are then not computed.
            enable_io_processing: take the arguments as the code of the module does, containers and all.

        Raises:
            RuntimeError: an argument is missing. An error of a node names the node.
        """
        self.env = initial_env if initial_env is not None else {}
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    told = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
                    error.args = (f"{error.args[0]}\n\n{told}" if error.args else told, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            for dead in self.user_to_last_uses.get(node, ()):
                del self.env[dead]
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """The result for arguments in a list, which is emptied so that they can be freed early."""
        places = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(places) != len(args_list):
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(places)} arguments for placeholders but received {len(args_list)}"
            )
        env = dict(zip(places, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    @contextlib.contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    def run_node(self, n: Node) -> Any:
        """The value of one node: by the method that is called as its `op`."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument; all that are left for `*args`; the default in `args` where there is none.

        Raises:
            RuntimeError: no argument is left.
        """
        if str(target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives."""
        assert not isinstance(target, str)
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the method of `args[0]` gives."""
        owner, *rest = args
        return getattr(owner, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the module gives."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What is returned."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """The attribute of the module with this name, as `layer.weight`.

        Raises:
            RuntimeError: there is none.
        """
        found: Any = self.module
        parts = target.split(".")
        for place, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: place + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with values for nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """`args` with values for nodes.

        Raises:
            RuntimeError: a node has no value yet.
        """

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value_of)


class Transformer(Interpreter):
    """Makes another graph module of one, by running its graph on proxies. Override its methods to change nodes.

    Args:
        module: a graph module.

    Example:
        >>> class Swapped(torch.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)
        >>> Swapped(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()(torch.tensor(3.0))
        tensor(-3.)
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A placeholder of the new graph."""
        default = args[0] if args else Signature.empty
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A node that reads the attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A node that calls the module."""
        module = self.fetch_attr(str(target))
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A node that calls the function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        output = self.new_graph.output(map_aggregate(result, lambda one: one.node if isinstance(one, Proxy) else one))
        output.meta.update(self.graph.output_node().meta)
        return GraphModule(self.module, self.new_graph)


class _TransformerTracer(Tracer):
    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.graph, self.root, self.tensor_attrs = graph, root, {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True
