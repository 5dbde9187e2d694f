"""Python code of a graph."""

from __future__ import annotations

import builtins
import enum
import inspect
import keyword
import math
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import clew
from clew import Tensor

from ..utils import _pytree as pytree
from . import _pytree as fx_pytree
from ._names import public_name
from ._names import qualified_name as _get_qualified_name
from ._names import type_name as _type_repr
from .node import Node, short_type

if TYPE_CHECKING:
    from .graph import Graph

TransformCodeFunc = Callable[[list[str]], list[str]]


class _CustomBuiltin(NamedTuple):
    """What each generated function finds among its globals, and how a file imports it."""

    import_str: str
    obj: Any


_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin("import torch", clew),
    "device": _CustomBuiltin("from torch import device", clew.device),
    "fx_pytree": _CustomBuiltin("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin("import torch.utils._pytree as pytree", pytree),
}
# Names that no value may take, and the object that has each of them.
_reserved: dict[str, Any] = dict.fromkeys(keyword.kwlist, keyword)
_reserved |= vars(builtins) | {name: one.obj for name, one in _custom_builtins.items()}


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)
    _reserved[name] = obj


reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}",
    "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}",
    "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}",
} | reflectable_magic_methods  # fmt: skip
inplace_methods = {
    f"i{name.rstrip('_')}": text.replace(" {}", "= {}")
    for name, text in reflectable_magic_methods.items()
    if name not in ("div", "getitem")
} | {"setitem": "{}[{}] = {}"}
_OF_TYPING: dict[Any, Any] = {
    vars(one)["__origin__"]: one
    for one in (typing.List, typing.Dict, typing.Set, typing.FrozenSet, typing.Tuple)  # noqa: UP006
}


class _Namespace:
    """Names, each for one object."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any | None) -> str:
        """A name that is free, as much like the candidate as can be; the one that `obj` has, where it has one."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.fullmatch(r"(.+?)(?:_(\d+))?", candidate)
        assert match is not None
        base, number = match.groups()
        if number is not None and candidate not in self._used_names:
            count = int(number)
        else:
            count = self._counts.get(base, 0)
            if _reserved.get(candidate, obj) is not obj:
                count += 1
                candidate = f"{base}_{count}"
        while candidate in self._used_names:
            count += 1
            candidate = f"{base}_{count}"
        self._used_names.add(candidate)
        self._counts[base] = count
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Give the object a name that was created for it."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")


@dataclass
class PythonCode:
    """Source code of a function, and the globals that it needs.

    Attributes:
        src: the source.
        globals: by their names.
    """

    src: str
    globals: dict[str, Any]


class _PyTreeInfo(NamedTuple):
    """How arguments that are containers are taken apart, and results put together."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class CodeGen:
    """How a graph becomes Python code. Subclass it and hand it to `Graph.set_codegen` for other signatures.

    Example:
        >>> class OfAList(torch.fx.graph.CodeGen):
        ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
        ...         return f"def forward(self, args_list):\\n    {', '.join(free_vars)}, = args_list"
        ...     def process_inputs(self, args_list):
        ...         return args_list
        >>> traced = torch.fx.symbolic_trace(lambda x, y: x + y)
        >>> traced.graph.set_codegen(OfAList())
        >>> _ = traced.recompile()
        >>> traced([1, 2])
        3
    """

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line: `def forward(self, a, b):`."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, repr_fn: Callable[[Any], str] = repr) -> str:
        """The last line, which returns."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the graph, from those of the function."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns, from what the graph gives."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names and values that code of your own needs among its globals."""
        return []

    def _gen_python_code(
        self, nodes: Iterable[Node], root_module: str, namespace: _Namespace, *, verbose: bool = False, **shown: bool
    ) -> PythonCode:
        return _Writer(self, list(nodes), root_module, namespace, verbose, shown).written()


class _PyTreeCodeGen(CodeGen):
    """Takes apart arguments that are containers."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        if self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        names = self.pytree_info.orig_args
        if names and names[0] == "self":
            free_vars.insert(0, "self")
        line = super().gen_fn_def(list(names), maybe_return_annotation)
        if not free_vars:
            return line
        annotated = [one for one in free_vars if ":" in one]
        if annotated:
            line += "\n    " + "".join(f"{one}; " for one in annotated) + "\n"
        bare = ", ".join(one.partition(":")[0] for one in free_vars)
        return line + f"\n    {bare}, = fx_pytree.tree_flatten_spec([{', '.join(names)}], self._in_spec)"

    def generate_output(self, output_args: Any, *, repr_fn: Callable[[Any], str] = repr) -> str:
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"


class _Writer:
    """Writes one function."""

    def __init__(
        self, codegen: CodeGen, nodes: list[Node], root: str, names: _Namespace, verbose: bool, shown: dict[str, bool]
    ) -> None:
        self.codegen, self.nodes, self.root, self.names = codegen, nodes, root, names
        self.verbose, self.shown = verbose, shown
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.parameters: list[str] = []
        self.body: list[str] = []
        self.returns = ""
        self.place = ""
        for name, (_, value) in _custom_builtins.items():
            self.global_name(name, value)

    def written(self) -> PythonCode:
        dying = self.last_uses()
        for node in self.nodes:
            if self.verbose:
                self.tell_place(node)
            line = self.line(node)
            if node.op == "placeholder":
                self.body.append(line)
                continue
            dead = dying.get(node, []) + ([node] if not node.users else []) if node.op != "output" else []
            self.body.append(line + (f";  {' = '.join(map(repr, dead))} = None\n" if dead else "\n"))
        if not any(node.op == "output" for node in self.nodes):
            self.body.append("pass\n")
        heads = ""
        if self.wrapped:
            from . import wrap

            name = self.global_name("wrap", wrap)
            heads = "\n".join(f'{name}("{one}")' for one in self.wrapped)
        body = self.codegen._body_transformer(self.body) if self.codegen._body_transformer else self.body
        for name, value in self.codegen.additional_globals():
            self.global_name(name, value)
        first = self.codegen.gen_fn_def(self.parameters, self.returns)
        lines = "".join(body).lstrip("\n").replace("\n", "\n    ")
        return PythonCode(f"\n{heads}\n\n{first}\n    {lines}", self.globals)

    def last_uses(self) -> dict[Node, list[Node]]:
        """For each node the values that nothing after it uses."""
        seen: set[Node] = set()
        dying: dict[Node, list[Node]] = {}
        for user in reversed(self.nodes):
            for used in user._input_nodes:
                if used not in seen:
                    seen.add(used)
                    dying.setdefault(user, []).append(used)
        return dying

    # Lines ------------------------------------------------------------------------------------------------------------

    def line(self, node: Node) -> str:
        """The statement that computes the node."""
        name, annotation = repr(node), self.annotation(node)
        if node.op == "placeholder":
            target = str(node.target)
            default = f" = {self.text(node.args[0])}" if node.args else ""
            self.parameters.append(f"{target}{annotation}{default}")
            bare = target.replace("*", "")
            return "" if bare == name else f"{name} = {bare}\n"
        if node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.type_text(node.type)}"
            kwargs = {}
            if "repr_fn" in inspect.signature(self.codegen.generate_output).parameters:
                kwargs["repr_fn"] = self.text
            return self.codegen.generate_output(node.args[0], **kwargs)
        if node.op == "call_function":
            return self.call(node, name, annotation)
        if node.op == "get_attr":
            return f"{name}{annotation} = {_format_target(self.root, str(node.target))}"
        if node.op == "call_method":
            owner, arguments = self.text(node.args[0]), node.args[1:]
        elif node.op == "call_module":
            owner, arguments = self.root, node.args
        else:
            raise NotImplementedError(f"node: {node.op} {node.target}")
        return f"{name}{annotation} = {_format_target(owner, str(node.target))}({self.arguments(arguments, node)})"

    def call(self, node: Node, name: str, annotation: str) -> str:
        target: Any = node.target
        if getattr(target, "__module__", "") == "_operator":
            values = list(map(self.text, node.args))
            if target.__name__ in magic_methods:
                return f"{name}{annotation} = {magic_methods[target.__name__].format(*values)}"
            if target.__name__ in inplace_methods:
                return f"{inplace_methods[target.__name__].format(*values)};  {name}{annotation} = {values[0]}"
        function = self.global_name(_get_qualified_name(target), target)
        if function == "getattr" and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{name}{annotation} = {_format_target(self.text(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped[function] = None
        return f"{name}{annotation} = {function}({self.arguments(node.args, node)})"

    def arguments(self, args: tuple[Any, ...], node: Node) -> str:
        return ", ".join([*map(self.text, args), *(f"{key} = {self.text(one)}" for key, one in node.kwargs.items())])

    def annotation(self, node: Node) -> str:
        if self.verbose and node.op not in ("output", "get_attr"):
            known = (node.meta[key] for key in ("val", "tensor_meta", "example_value") if key in node.meta)
            value: Any = next(known, None)
            if hasattr(value, "dtype") and hasattr(value, "shape"):
                strides = value.stride if not callable(value.stride) else value.stride()
                text = short_type(value) + (str(list(strides)) if self.shown.get("include_stride") else "")
                return f': "{text}{getattr(value, "device", "cpu") if self.shown.get("include_device") else ""}"'
        return "" if node.type is None else f" : {self.type_text(node.type)}"

    def tell_place(self, node: Node) -> None:
        """Write the line of the program that a node was recorded at, where it is another one than before."""
        if node.op in ("placeholder", "output"):
            return
        found = re.findall(r'File "(.+)", line (\d+), in (.+)\n\s*(.*)', node.stack_trace or "")
        place = "No stacktrace found for following nodes"
        if found:
            place = "File: {}:{} in {}, code: {}".format(*found[-1])
        if place != self.place:
            self.place = place
            self.body.append(f"\n# {place}\n")

    # Values -----------------------------------------------------------------------------------------------------------

    def global_name(self, hint: str, value: Any) -> str:
        """The name of something outside of the graph, which is noted as a global unless `torch` has it."""
        public = public_name(value) if value is not clew.device else None
        if public is not None:
            return public
        name = self.names.create_name(hint, value)
        before = self.globals.setdefault(name, value)
        if before is not value and before != value:
            raise AssertionError(f"Global name {name} already assigned to different object")
        return name

    def type_text(self, value: Any) -> str:
        if value == () or isinstance(value, str):  # a string: `from __future__ import annotations`
            return repr(value)
        if isinstance(value, types.UnionType):
            return "|".join(map(self.type_text, typing.get_args(value)))
        origin = getattr(value, "__origin__", None)
        if not origin:
            return self.global_name(_type_repr(value), value)
        if isinstance(value, typing._GenericAlias):  # type: ignore[attr-defined]
            # `typing.List[int]` has the origin `list`, but is written as it was.
            origin = _OF_TYPING.get(origin, origin)
        name = self.global_name(_type_repr(origin), origin)
        inner = typing.get_args(value)
        return f"{name}[{','.join(map(self.type_text, inner))}]" if inner else name

    def text(self, value: Any) -> str:
        """An expression for an argument."""
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.global_name(_get_qualified_name(type(value)), type(value))}{tuple(value)!r}"
        if isinstance(value, enum.Enum):
            return f"{self.global_name(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, Tensor):
            return f"torch.Tensor(size={list(value.shape)}, dtype={str(value.dtype).rpartition('.')[2]})"
        if isinstance(value, tuple):
            return f"({self.text(value[0])},)" if len(value) == 1 else f"({', '.join(map(self.text, value))})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if isinstance(value, type):
            return self.global_name(_type_repr(value), value)
        if isinstance(value, (clew.dtype, clew.memory_format, clew.layout)):
            return f"torch.{str(value).rpartition('.')[2]}"
        return repr(value)


def _format_target(base: str, target: str) -> str:
    """`base.a.b`, with `getattr` where a part is no identifier."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


def code_of(graph: Graph, root_module: str, verbose: bool, shown: dict[str, bool]) -> PythonCode:
    """The code of a graph. Names of values and of globals come from one namespace."""
    names = _Namespace()
    before = {node: node._repr_fn for node in graph.nodes}
    try:
        for node in before:
            node._repr_fn = lambda one: names.create_name(one.name, one)
        return graph._codegen._gen_python_code(graph.nodes, root_module, names, verbose=verbose, **shown)
    finally:
        for node, function in before.items():
            node._repr_fn = function
