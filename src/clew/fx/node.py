"""`Node`: one value of a graph, and how it is computed."""

from __future__ import annotations

import enum
import operator
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import clew
from clew import Tensor
from clew._core import Operation

from ._names import public_name
from ._names import qualified_name as _get_qualified_name
from ._names import type_name as _type_repr
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
Target = Callable[..., Any] | str

base_types = (str, int, float, bool, complex, clew.dtype, Tensor, clew.device, clew.memory_format, clew.layout)

_legal_ops = dict.fromkeys(["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"])
_side_effectful_functions: set[Callable[..., Any]] = {operator.setitem}
# Names of functions that draw numbers: eliminating one would change what those after it draw.
_DRAWING = {"rand", "randn", "randint", "randperm", "normal", "bernoulli", "poisson", "multinomial", "rand_like",
            "randn_like", "randint_like", "dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d",
            "dropout3d", "rrelu"}  # fmt: skip

_DTYPE_SHORT = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8",
}  # fmt: skip


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of `fn` when dead code is eliminated, even where nobody uses their results. Returns `fn`.

    Example:
        >>> @torch.fx.has_side_effect
        ... def log(x):
        ...     print("got", x)
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """`a` with each leaf of its tuples, lists, dicts and slices replaced by `fn` of it.

    Lists become `immutable_list`, dicts `immutable_dict`.

    Example:
        >>> torch.fx.node.map_aggregate((1, [2, {"a": 3}]), lambda leaf: leaf + 1)
        (2, [3, {'a': 4}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(one, fn) for one in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """`a` with each node in it replaced by `fn` of the node; see `map_aggregate`.

    Example:
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> torch.fx.map_arg([x, 1], lambda node: node.name)
        ['x', 1]
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


class Node:
    """One value of a graph. Graphs make nodes (`graph.call_function(...)`); programs do not.

    Attributes:
        op: what kind of value it is: "placeholder" (an argument), "get_attr" (an attribute of the module),
            "call_function", "call_method", "call_module" or "output" (what is returned: `args[0]`).
        target: the function; or the name of the argument, attribute, method or module.
        args, kwargs: the arguments of the call. They may be assigned to; lists and dicts in them can't be changed.
        name: the name of the value in generated code.
        users: the nodes that use this value, as the keys of a dict.
        type: an annotation, or None.
        meta: what passes have noted; copies of the node have a copy.

    Example:
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1))
        >>> [(node.op, node.name) for node in traced.graph.nodes]
        [('placeholder', 'x'), ('call_function', 'add'), ('call_function', 'relu'), ('output', 'output')]
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in {list(_legal_ops)}")
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            expected = "a Callable" if op == "call_function" else "a str"
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {clew.typename(target)} "
                f"but {expected} is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev, self._next = self, self
        self._erased = False
        self._sort_key = 0
        self._repr_fn: Callable[[Node], str] | None = None
        self._update_args_kwargs(args, kwargs)

    # Where it stands --------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move `x`, a node of the same graph, to the place before this one."""
        if x.graph is not self.graph:
            raise AssertionError(f"prepend: expected a node of the same graph, got {x} of another")
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        self.graph._order_known = False

    def append(self, x: Node) -> None:
        """Move `x`, a node of the same graph, to the place after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: Node) -> bool:
        return self._position() < other._position()

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __le__(self, other: Node) -> bool:
        return not other < self

    def __ge__(self, other: Node) -> bool:
        return not self < other

    def _position(self) -> int:
        if not self.graph._order_known:
            for place, node in enumerate(self.graph.nodes):
                node._sort_key = place
            self.graph._order_known = True
        return self._sort_key

    # What it uses -----------------------------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. Assigning to it updates `users` of the nodes in them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The keyword arguments. Assigning to it updates `users` of the nodes in them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, kwargs)

    def _update_args_kwargs(self, args: Any, kwargs: Any) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        inputs: dict[Node, None] = {}

        def note(node: Node) -> Node:
            inputs[node] = None
            return node

        self._args: tuple[Argument, ...] = map_arg(tuple(args), note)
        self._kwargs: dict[str, Argument] = map_arg(dict(kwargs), note)
        self._input_nodes = inputs
        for node in inputs:
            node.users[self] = None

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes in `args` and `kwargs`, each once, in this order."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Set `args[idx]`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put `arg` before `args[idx]`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_arg: expected an index from 0 to {len(self.args)}, got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set `kwargs[key]`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use `new_input` in each place where this node uses `old_input`."""

        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self._args, replaced), map_arg(self._kwargs, replaced))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] | None = None, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Make all users of this node use `replace_with` instead.

        Args:
            replace_with: a node of the same graph.
            delete_user_cb: says of each user whether to change it; all are changed without it.
            propagate_meta: copy `meta` of this node to the other one, which must have none.

        Returns:
            The users that were changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("replace_all_uses_with(propagate_meta=True): replace_with already has .meta keys")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # What is said of it -----------------------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """The calls that led to this node, where the tracer records them (`Tracer.record_stack_traces`)."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether leaving the node out changes more than its value: arguments, results, and what has side effects."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("is_impure: the graph of a call_module node has no owning_module to look into")
            return bool(getattr(self.graph.owning_module.get_submodule(str(self.target)), "_is_impure", False))
        if self.op != "call_function" or isinstance(self.target, str):
            return False
        name = getattr(self.target, "__name__", "")
        writes = isinstance(self.target, Operation) and name.endswith("_")
        draws = impure_random and name in _DRAWING and public_name(self.target) is not None
        return self.target in _side_effectful_functions or writes or draws or "out" in self.kwargs

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments by the names of the parameters, with defaults filled in; None where that can't be said."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_module":
            return normalize_module(root, str(self.target), self.args, self.kwargs, normalize_to_only_use_kwargs)
        if self.op != "call_function" or isinstance(self.target, str):
            return None
        return normalize_function(
            self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
        )

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        owner = getattr(target, "__module__", None)
        if owner in ("builtins", "_operator"):
            return f"{owner.lstrip('_')}.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """A line that describes the node."""
        kind = f"{_type_repr(self.type)} " if self.type is not None else ""
        start = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(f"{self.target}: {_type_repr(self.type)}" if self.type else str(self.target))
                return None
            return f"{start}[target={self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return f"{start}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        value = next((self.meta[key] for key in ("val", "tensor_meta", "example_value") if key in self.meta), None)
        if include_tensor_metadata and isinstance(value, Tensor):
            text = f"{short_type(value)}{list(value.stride())}{value.device}"
            start = f'%{self.name} : Tensor "{text}"[num_users={len(self.users)}] = {self.op}'
        return (
            f"{start}[target={self._pretty_print_target(self.target)}]"
            f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
        )


def short_type(value: Any) -> str:
    """Dtype and shape of a tensor, or of what a pass noted about one: `f32[2, 3]`."""
    name = str(value.dtype).rpartition(".")[2]
    return f"{_DTYPE_SHORT.get(name, name)}[{', '.join(map(str, value.shape))}]"


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)):
        shown: Iterable[Any] = arg if len(arg) <= max_list_len else arg[: int(max_list_len)]
        text = ", ".join(map(_format_arg, shown))
        comma = "," if isinstance(arg, tuple) and len(arg) == 1 else ""
        more = "" if len(arg) <= max_list_len else f", ...[total_len={len(arg)}]"
        return f"[{text}{more}]" if isinstance(arg, list) else f"({text}{comma}{more})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def is_plain(value: Any) -> bool:
    """Whether the value may stand in the arguments of a node as it is."""
    return isinstance(value, (*base_types, enum.Enum, types.NoneType, types.EllipsisType))
