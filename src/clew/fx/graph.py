"""`Graph`: a function as a list of nodes."""

from __future__ import annotations

import contextlib
import copy
import re
import warnings
from collections.abc import Callable, Iterator
from inspect import Signature
from typing import TYPE_CHECKING, Any

import clew

from . import _codegen
from ._codegen import CodeGen, PythonCode, TransformCodeFunc, _Namespace
from ._codegen import _custom_builtins as _custom_builtins
from ._codegen import _format_target as _format_target
from ._codegen import _PyTreeCodeGen as _PyTreeCodeGen
from ._codegen import _PyTreeInfo as _PyTreeInfo
from ._codegen import _register_custom_builtin as _register_custom_builtin
from ._codegen import inplace_methods as inplace_methods
from ._codegen import magic_methods as magic_methods
from ._codegen import reflectable_magic_methods as reflectable_magic_methods
from ._names import public_name
from ._names import qualified_name as _get_qualified_name  # noqa: F401  # programs import it from here
from ._names import type_name as _type_repr  # noqa: F401
from .node import Argument, Node, Target, map_aggregate, map_arg

if TYPE_CHECKING:
    from .graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]


class _InsertPoint:
    """Where nodes are inserted: from now on, or as long as the `with` block lasts."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self) -> None: ...

    def __exit__(self, *exc_info: object) -> None:
        self.graph._insert = self.before


class _node_list:
    """The nodes of a graph. While it is iterated over, nodes may be added and erased."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self._graph, self._backwards = graph, backwards

    def __len__(self) -> int:
        return self._graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        step = "_prev" if self._backwards else "_next"
        node = getattr(root, step)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, step)

    def __reversed__(self) -> Iterator[Node]:
        return iter(_node_list(self._graph, not self._backwards))


class Graph:
    """A function as a list of nodes, each of which uses those before it.

    Example:
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(torch.relu, (x,))
        >>> _ = graph.output(y)
        >>> torch.fx.GraphModule(torch.nn.Module(), graph)(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._order_known = False
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def nodes(self) -> _node_list:
        """All nodes, in order. `reversed` goes through them backwards."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node that returns."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError(f"output_node: expected the last node to be the output, got op={last.op}")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of this kind, in order.

        Args:
            op: what `Node.op` must be.
            target: what `Node.target` must be; needed for "call_function".
            sort: nothing; they always are in order.

        Example:
            >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
            >>> traced.graph.find_nodes(op="call_function", target=torch.relu)
            [relu]
        """
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes: expected a target for call_function, got None")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # Copies -----------------------------------------------------------------------------------------------------------

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy the nodes of `g` to the end of this graph, but for its output."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                returned = map_arg(node.args[0], lambda one: val_map[one])
                return (returned, node) if return_output_node else returned
            val_map[node] = self.node_copy(node, lambda one: val_map[one])
        return None

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Add a copy of a node of another graph."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        nodes: dict[Node, Node] = {}
        found = copied.graph_copy(self, nodes, return_output_node=True)
        if memo is not None:
            memo.update({id(node): one for node, one in nodes.items()})
        copied._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            returned, output = found
            copied.output(returned, output.type).meta = copy.copy(output.meta)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # A list, as the chain of nodes is deeper than pickle goes.
        order = {node: place for place, node in enumerate(self.nodes)}

        def encoded(value: Any) -> Any:
            return map_arg(value, lambda one: _Reference(order[one]))

        rows = [
            (one.op, one.target, encoded(one.args), encoded(one.kwargs), one.name, one.type, one.meta) for one in order
        ]
        return _read_graph, (rows, self._codegen, self._tracer_cls, self._tracer_extras)

    # Making nodes -----------------------------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a node where nodes are inserted: at the end, or where `inserting_before` or `inserting_after` says."""
        if not isinstance(args or (), tuple):
            raise AssertionError(f"create_node: expected args to be a tuple, got {type(args)}")
        if not isinstance(kwargs or {}, dict):
            raise AssertionError(f"create_node: expected kwargs to be a dict, got {type(kwargs)}")
        unique = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, None)
        node = Node(self, unique, op, target, args or (), kwargs or {}, type_expr)
        self._graph_namespace.associate_name_with_obj(unique, node)
        self._insert(node)
        self._len += 1
        return node

    @staticmethod
    def _target_to_str(target: Any) -> str:
        if isinstance(target, str):
            name = target[2:-2] if target.startswith("__") and target.endswith("__") else target
        else:
            place, _, name = (public_name(target) or target.__name__).rpartition(".")
            if place in ("torch.linalg", "torch.special", "torch.fft"):
                name = f"{place.removeprefix('torch.')}_{name}"
        return re.sub("(?<=[a-z])([A-Z])", r"_\1", name).lower()

    def placeholder(self, name: str, type_expr: Any | None = None, default_value: Any = Signature.empty) -> Node:
        """Add an argument of the function: one with a default value, where there is one; `*args` and `**kwargs` too."""
        args = () if default_value is Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Add the value of an attribute of the module, as `layer.weight`."""
        if self.owning_module is not None and not _is_state(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a call of a module of the module, as `layers.0`."""
        if self.owning_module is not None:
            try:
                self.owning_module.get_submodule(module_name)
            except AttributeError:
                warnings.warn(
                    "Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! "
                    "Call GraphModule.add_submodule to add the necessary submodule",
                    stacklevel=2,
                )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a call of a method of `args[0]`."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """Add what the function returns: a node, or a container with nodes."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Insert nodes before `n`, or before all: in a `with` block, or from now on.

        Example:
            >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
            >>> relu = traced.graph.find_nodes(op="call_function", target=torch.relu)[0]
            >>> with traced.graph.inserting_before(relu):
            ...     relu.args = (traced.graph.call_function(torch.neg, relu.args),)
            >>> _ = traced.recompile()
            >>> traced(torch.tensor([-1.0, 2.0]))
            tensor([1., 0.])
        """
        if n is None:
            return self.inserting_after(self._root)
        self._check_own(n, "inserting_before")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Insert nodes after `n`, or after all: in a `with` block, or from now on."""
        if n is None:
            return self.inserting_before(self._root)
        self._check_own(n, "inserting_after")
        return _InsertPoint(self, n.append)

    def _check_own(self, node: Node, caller: str) -> None:
        if node.graph is not self:
            raise AssertionError(f"{caller}: expected a node of this graph, got {node} of another")

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nobody uses.

        Raises:
            RuntimeError: it has users, or is of another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        to_erase._remove_from_list()
        to_erase._erased = True  # iterators may be at it
        self._len -= 1
        to_erase._update_args_kwargs(map_arg(to_erase._args, lambda _: None), map_arg(to_erase._kwargs, lambda _: None))

    # Passes -----------------------------------------------------------------------------------------------------------

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase nodes that nobody uses, but for those with side effects.

        Args:
            is_impure_node: says which have; `Node.is_impure` without it.

        Returns:
            Whether there were any.

        Example:
            >>> def f(x):
            ...     unused = x + 1
            ...     return x * 2
            >>> traced = torch.fx.symbolic_trace(f)
            >>> traced.graph.eliminate_dead_code(), len(traced.graph.nodes)
            (True, 3)
        """
        self.lint()
        before = len(self.nodes)
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node(node) if is_impure_node else node.is_impure()):
                self.erase_node(node)
        changed = len(self.nodes) < before
        if self.owning_module is not None:
            names = {node.target for node in self.find_nodes(op="get_attr")}
            for name, child in self.owning_module.named_children():
                if name in names and isinstance(getattr(child, "graph", None), Graph):
                    changed |= child.graph.eliminate_dead_code()
                    child.recompile()
        return changed

    def lint(self) -> None:
        """Raise if the graph is no function: a node used before it is computed, a name taken twice, a missing module.

        Raises:
            RuntimeError: for these.
        """
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node._input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an "
                        "argument! If you are copying nodes from another graph, make sure to use ``arg_transform`` "
                        f"on node_copy() to remap values\n{self}"
                    )
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that "
                        f"Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
        if self.owning_module is None:
            return
        for node in self.nodes:
            if not (callable(node.target) if node.op == "call_function" else isinstance(node.target, str)):
                raise ValueError(f"Node {node} target {node.target} has type {clew.typename(node.target)}")
            if node.op in ("get_attr", "call_module"):
                self._check_target(node)

    def _check_target(self, node: Node) -> None:
        found: Any = self.owning_module
        parts = str(node.target).split(".")
        for place, part in enumerate(parts):
            found, where = getattr(found, part, None), ".".join(parts[:place])
            if found is None:
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of {where}"
                )
            if node.op == "call_module" and not isinstance(found, clew.nn.Module):
                raise RuntimeError(
                    f"Node {node} target {node.target} {part} of {where} does not reference an nn.Module"
                )

    # Code -------------------------------------------------------------------------------------------------------------

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
    ) -> PythonCode:
        """The source code of the function, and the globals that it needs.

        Args:
            root_module: what the module is called in it: "self".
            verbose: with the places where nodes were recorded, and shapes that passes have noted.
            include_stride, include_device: with these of tensors, too.
            colored: nothing.

        Example:
            >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
            >>> print(traced.graph.python_code("self").src.strip())
            def forward(self, x):
                add = x + 1;  x = None
                relu = torch.relu(add);  add = None
                return relu
        """
        shown = {"include_stride": include_stride, "include_device": include_device}
        return _codegen.code_of(self, root_module, verbose, shown if verbose else {})

    def set_codegen(self, codegen: CodeGen) -> None:
        """Write code in another way from now on."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the graph, from those of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the function returns, from what the graph gives."""
        return self._codegen.process_outputs(out)

    def on_generate_code(
        self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> contextlib.AbstractContextManager[None]:
        """Change the lines of generated code."""
        codegen, before = self._codegen, self._codegen._body_transformer
        codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_end() -> Iterator[None]:
            try:
                yield
            finally:
                codegen._body_transformer = before

        return until_end()

    def print_tabular(self) -> None:
        """Print the nodes as a table. Needs the package `tabulate`."""
        try:
            from tabulate import tabulate  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            print("`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run "
                  "`pip install tabulate` to install the library.")  # fmt: skip
            raise
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)


class _Reference:
    """In a pickled graph: the node at this place."""

    def __init__(self, place: int) -> None:
        self.place = place


def _read_graph(rows: list[tuple[Any, ...]], codegen: CodeGen, tracer_cls: Any, tracer_extras: Any) -> Graph:

    graph, nodes = Graph(tracer_cls=tracer_cls, tracer_extras=tracer_extras), list[Node]()

    def decoded(value: Any) -> Any:
        return map_aggregate(value, lambda one: nodes[one.place] if isinstance(one, _Reference) else one)

    for op, target, args, kwargs, name, kind, meta in rows:
        nodes.append(graph.create_node(op, target, decoded(args), dict(decoded(kwargs)), name, kind))
        nodes[-1].meta = meta
    graph.set_codegen(codegen)
    return graph


def _is_state(module: Any, qualified_name: str) -> bool:
    """Whether it is a module, a parameter or a buffer of the module."""
    path, _, name = qualified_name.rpartition(".")
    try:
        owner = module.get_submodule(path)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {path}!", stacklevel=3)
        return False
    found = getattr(owner, name, None)
    return isinstance(found, (clew.nn.Module, clew.nn.Parameter)) or (found is not None and name in owner._buffers)
