"""`Proxy`: stands for a value while a program is traced, and records what is done with it."""

from __future__ import annotations

import bisect
import collections
import copy
import dis
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

import clew

from . import traceback as fx_traceback
from ._codegen import magic_methods, reflectable_magic_methods
from ._names import public_name
from .graph import Graph
from .node import Argument, Node, Target, is_plain, map_aggregate, map_arg
from .operator_schemas import check_for_mutable_operation, normalize_function

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """The program does what can't be recorded, such as `if` on a value."""


class Scope:
    """Which module's `forward` runs.

    Attributes:
        module_path: its name in the root.
        module_type: its class.
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Sets a scope for the time of a `with` block."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._before = scope, copy.copy(scope)
        vars(scope).update(vars(current_scope))

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc_info: object) -> None:
        vars(self._scope).update(vars(self._before))


class TracerBase:
    """Makes nodes of what proxies record. See `Tracer`.

    Attributes:
        graph: where the nodes go.
        record_stack_traces: note the calls that led to each node.
        trace_asserts: record `assert` on a value, which is refused without it.
        proxy_buffer_attributes: record where buffers are read, not only parameters.
        traced_func_name: the method of a module that is traced.
    """

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: collections.OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Add a node to the graph. Override it to check or change what is recorded.

        Raises:
            RuntimeError: it writes into a tensor, and `check_mutable_operations` is set.
        """
        if kind == "call_function" and self.check_mutable_operations:
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            current = fx_traceback.get_current_meta()
            node.meta.update({key: copy.copy(current[key]) for key in fx_traceback.COPIED if key in current})
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            frames = traceback.extract_stack()
            first = next((place for place, frame in enumerate(frames) if frame.name == "forward"), len(frames))
            kept = [frame for frame in frames[first:] if not frame.filename.startswith(_FOLDER)]
            if kept:
                node.stack_trace = "".join(traceback.format_list(kept)).strip()
        return node

    def proxy(self, node: Node) -> Proxy:
        """What stands for the node's value in the program."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node for a call with these arguments, and give the proxy of its value."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """What stands for a value in the arguments of a node. Override it for types of your own.

        Raises:
            NotImplementedError: the value is of a type that can't stand there.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_plain(a) or isinstance(a, Node):
            return a
        if is_dataclass(a) and not isinstance(a, type):
            values = {field.name: self.create_arg(getattr(a, field.name)) for field in fields(a)}
            return self.create_node("call_function", type(a), (), values)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        if isinstance(key, str):
            return key

        def refuse(node: Node) -> NoReturn:
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {node}")

        key = self.create_arg(key)
        map_arg(key, refuse)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """What `if` on a proxy takes. Override it where your tracer knows.

        Raises:
            TraceError: always.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What `for` over a proxy takes. Override it where your tracer knows.

        Raises:
            TraceError: always.
        """
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """What `**proxy` takes: the keys of the value, as a proxy."""
        return Attribute(obj, "keys")()


_FOLDER = __file__.rpartition("/")[0]


class GraphAppendingTracer(TracerBase):
    """For proxies of nodes of a graph that is there: what is done with them goes to where the graph inserts."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


class Proxy:
    """Stands for the value of a node, and records each operation on it as a node.

    A function is traced by calling it with proxies. `Proxy(node)` around a node of a graph lets you add to the graph
    by ordinary operators.

    `if`, `while` and `for` on a proxy raise `TraceError`, as its value is not known. Either put that code into a
    function of its own that is not looked into (`torch.fx.wrap`), or let it depend on what is known (sizes given to
    the module, `Tracer(concrete_args)`).

    Example:
        >>> import operator
        >>> traced = torch.fx.symbolic_trace(lambda x: x * 2)
        >>> product = traced.graph.find_nodes(op="call_function", target=operator.mul)[0]
        >>> with traced.graph.inserting_after(product):
        ...     more = torch.fx.Proxy(product) + 1
        >>> traced.graph.output_node().args = (more.node,)
        >>> _ = traced.recompile()
        >>> traced(3)
        7
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        return Attribute(self, name)

    # Without these, copies and pickles would ask the proxy for methods, and be given attributes.
    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        copied = object.__new__(type(self))
        for name, value in self.__dict__.items():
            try:
                copied.__dict__[name] = copy.deepcopy(value, memo)
            except Exception:  # modules, files and the like stay
                copied.__dict__[name] = copy.copy(value)
        return copied

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        instruction, _ = _instruction_of(sys._getframe(1))
        if instruction.opname == "UNPACK_SEQUENCE":  # a, b = proxy
            return (self[index] for index in range(instruction.argval))  # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            _, after = _instruction_of(sys._getframe(1))
            if any(one.opname == "LOAD_ASSERTION_ERROR" for one in after[:2]):
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys of the value; `**proxy` asks for them."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Callable[..., Any], types: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def find(leaf: Any) -> None:
            if isinstance(leaf, Proxy):
                tracers[leaf.tracer] = None

        map_aggregate((args, kwargs), find)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        (tracer,) = tracers
        if _is_of_tensor(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        place, _, name = (public_name(orig_method) or orig_method.__name__).rpartition(".")
        if orig_method is clew.einsum and len(args) == 2 and isinstance(args[1], (tuple, list)):
            args = (args[0], *args[1])
        elif place == "torch.nn.functional" and name not in _PASSED_ON:
            args, kwargs = normalize_function(orig_method, args, kwargs) or (args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


# Functions whose arguments PyTorch records as they are given. Of others in nn.functional it records all, those with
# defaults by their names: programs that change graphs look for `node.kwargs["training"]`.
_PASSED_ON = {
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "celu_", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "elu_", "gelu",
    "hardshrink", "hardtanh_", "leaky_relu_", "linear", "logsigmoid", "native_channel_shuffle", "one_hot",
    "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "rrelu_",
    "scaled_dot_product_attention", "selu_", "softplus", "softshrink", "threshold_",
}  # fmt: skip


def _instruction_of(frame: Any) -> tuple[Any, list[Any]]:
    """The instruction that the frame is at, and those after it."""
    instructions = list(dis.get_instructions(frame.f_code))
    place = bisect.bisect_left(instructions, frame.f_lasti, key=lambda one: one.offset)
    return instructions[place], instructions[place + 1 :]


def _is_of_tensor(function: Any) -> bool:
    """Whether it is a method or an attribute of tensors. What is a function, too, is taken for the function."""
    from .. import overrides

    public = public_name(function)
    return overrides.is_tensor_method_or_property(function) if public is None else public.startswith("torch.Tensor.")


def assert_fn(x: Any) -> None:
    """Raise unless `x` is true: what a recorded `assert` becomes."""
    if not x:
        raise AssertionError("Assertion failed")


class Attribute(Proxy):
    """An attribute of a proxy. It is recorded when it is used, unless that is by a call: of a method, then."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy of a parameter whose sizes are known: `Tracer(param_shapes_constant=True)`."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, clew.nn.Parameter):
            raise AssertionError(f"ParameterProxy: expected a Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """That of the parameter; likewise the others."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return int(self.param.ndim)

    def size(self) -> Any:
        """The shape."""
        return self.param.size()

    def dim(self) -> int:
        """Number of dimensions."""
        return int(self.param.dim())

    def numel(self) -> int:
        """Number of elements."""
        return int(self.param.numel())

    nelement = numel


def _define_operators() -> None:
    def recorded(function: Callable[..., Any], turned: bool) -> Callable[..., Proxy]:
        def operate(self: Proxy, *others: Any) -> Proxy:
            args = (*others, self) if turned else (self, *others)
            return self.tracer.create_proxy("call_function", function, args, {})

        return operate

    for turned, names in ((False, magic_methods), (True, reflectable_magic_methods)):
        for name in names:
            function = getattr(operator, name, None)
            if function is not None:  # there is no operator.div any more
                method = recorded(function, turned)
                method.__name__ = method.__qualname__ = f"__{'r' if turned else ''}{name.strip('_')}__"
                setattr(Proxy, method.__name__, method)


_define_operators()
