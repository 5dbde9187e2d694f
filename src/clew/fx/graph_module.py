"""`GraphModule`: a module whose `forward` is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import pickle
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clew
from clew import Tensor

from ..nn.modules.module import Module, _indent
from ..nn.parameter import Parameter
from ._codegen import PythonCode, _custom_builtins, _PyTreeCodeGen
from ._names import imported, public_name
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]

_numbers = itertools.count()
default_tracer: Any = None  # Tracer; _symbolic_trace.py, which imports this module, sets it


class _Source:
    """Gives `linecache` the text of generated code, so that tracebacks and `explain` show its lines."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_source(self, name: str) -> str:
        return self._text


def _exec_with_source(src: str, names: dict[str, Any]) -> None:
    """Run the code, under the name of a file whose lines `linecache` has."""
    file = f"<eval_with_key>.{next(_numbers)}"
    # A file of its own for each code: linecache keeps the lines until they are asked for, and then for good.
    linecache.lazycache(file, {**names, "__name__": file, "__file__": file, "__loader__": _Source(src)})
    exec(compile(src, file, "exec", dont_inherit=True), names)


def _forward_from_src(src: str, names: dict[str, Any], name: str = "forward") -> Any:
    names = names.copy()
    _exec_with_source(src, names)
    return names.pop(name)


def reduce_graph_module(body: dict[str, Any], import_block: str) -> GraphModule:
    """Make the module of a pickle: its code is traced again."""
    source = body["_code"] if "_code" in body else body["code"]
    forward = _forward_from_src(imported(import_block) + source, {})
    return _deserialize_graph_module(forward, body)


class _CodeOnlyModule(Module):
    """The attributes of a module, and its `forward`, which each object has of its own."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__setstate__(body)


def _deserialize_graph_module(
    forward: Callable[..., Any], body: dict[str, Any], graph_module_cls: type[GraphModule] | None = None
) -> GraphModule:
    body = dict(body)
    traces = body.pop("_graphmodule_graph_node_meta_stack_trace", None) or {}
    tracer_cls: Any = body.get("_tracer_cls") or default_tracer
    root = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)

    class KeepModules(tracer_cls):  # type: ignore[misc]
        """The modules below were not looked into when the graph was made, either."""

        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    graph = KeepModules().trace(root, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = tracer_cls
    for node in graph.nodes:
        if node.name in traces:
            node.stack_trace = traces[node.name]
    made = (graph_module_cls or GraphModule)(root, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in vars(root).items():
        if not hasattr(made, name):
            setattr(made, name, value)
    return made


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give a module what another has under this name; modules between are made."""
    *path, last = target.split(".")
    for part in path:
        source, there = getattr(from_module, part), getattr(to_module, part, None)
        if source is there:
            return  # its parent was copied, and this with it
        if there is None:
            there = Module()
            setattr(to_module, part, there)
        from_module, to_module = source, there
    _set(to_module, last, getattr(from_module, last))


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    *path, last = target.split(".")
    for part in path:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _set(to_module, last, from_obj)


def _set(module: Module, name: str, value: Any) -> None:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _get_attr(model: Module, attr_name: str) -> Any:
    found: Any = model
    for part in filter(None, attr_name.split(".")):
        found = getattr(found, part)
    return found


def _del_attr(model: Module, attr_name: str) -> None:
    path, _, last = attr_name.rpartition(".")
    delattr(_get_attr(model, path), last)


def _has_attr(model: Module, attr_name: str) -> bool:
    path, _, last = attr_name.rpartition(".")
    try:
        return hasattr(_get_attr(model, path), last)
    except AttributeError:
        return False


class GraphModule(Module):
    """A module that runs a graph, by Python code that is made of it.

    Args:
        root: a module, whose parameters, buffers and modules the graph names; or a dict of such, by their names.
        graph: the graph. After changing it call `recompile`.
        class_name: what its class is called.

    Attributes:
        graph: the graph. Assigning one makes the code anew.
        code: the code of `forward`.
        meta: a dict for passes.

    Example:
        >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
        >>> print(traced.code.strip())
        def forward(self, input):
            input_1 = input
            _0 = getattr(self, "0")(input_1);  input_1 = None
            _1 = getattr(self, "1")(_0);  _0 = None
            return _1
    """

    _graph: Graph
    _code: str

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # Each object has a class of its own, as each has another `forward`. Copies don't derive from the class of
        # what they are copies of.
        plain = next(one for one in cls.__mro__ if "GraphModuleImpl" not in one.__qualname__)
        names = {"__qualname__": "GraphModuleImpl", "__module__": plain.__module__}
        own: Any = types.new_class("GraphModuleImpl", (plain,), {}, lambda space: space.update(names))
        made: GraphModule = super().__new__(own)
        return made

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        targets = [str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            if isinstance(root, _CodeOnlyModule):
                for group in (root._modules, root._buffers, root._parameters):
                    targets = [name for name, value in group.items() if value is not None] + targets
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for target in sorted(targets, key=lambda name: name.count(".")):  # parents before what is in them
                if target not in root:
                    raise RuntimeError(f"a node references {target}, but that target was not provided in ``root``!")
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = None if tracer is None or "<locals>" in tracer.__qualname__ else tracer
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"GraphModule.graph: expected a Graph, got {type(graph)}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Make the code anew, after a change of the graph."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            _, self._in_spec, self._out_spec = self._graph._codegen.pytree_info
        made = self._graph.python_code(root_module="self")
        self._code = made.src
        forward = _forward_from_src(made.src, made.globals, self._graph._codegen._func_name)
        type(self).forward = forward  # type: ignore[method-assign]
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return made

    # Modules below ----------------------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module under a name as `layers.norm`; modules between are made."""
        *path, last = target.split(".")
        owner: Any = self
        for part in path:
            if getattr(owner, part, None) is None:
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module of this name out."""
        path, _, last = target.rpartition(".")
        owner = _get_attr(self, path) if _has_attr(self, path) or not path else None
        if not isinstance(owner, Module) or not isinstance(getattr(owner, last, None), Module):
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take out the modules that no node uses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                target = str(node.target)
                used.update(itertools.accumulate(target.split("."), "{}.{}".format))
                if node.op == "call_module" and _has_attr(self, target):
                    below = self.get_submodule(target).named_modules(prefix=target)
                    used.update(name for name, _ in below)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # Copies -----------------------------------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        made = self.recompile()
        state = self.__getstate__()
        del state["_graph"]
        state["_graphmodule_cls_name"] = type(self).__name__
        return reduce_graph_module, (state, _import_block(made.globals))

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        root = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        graph = root.__dict__["_graph"]
        GraphModule.__init__(copied, root, graph)
        for name, value in vars(root).items():
            if name.endswith("_hooks") or name in ("meta", "_hooks"):
                copied.__dict__[name] = value
        for name, value in copied.meta.get("_user_preserved_attributes", {}).items():
            setattr(copied, name, value)
        return copied

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, self.graph)
        copied.meta = self.meta
        return copied

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the module as a Python package with a class and a file of its state."""
        place = Path(folder)
        place.mkdir(exist_ok=True)
        clew.save(self.state_dict(), place / "state_dict.pt")
        lines, pickled = [], []
        for name, module in self.named_children():
            if type(module) in _WRITTEN:
                lines.append(f"setattr(self, '{name}', {module!r})")
            else:
                clew.save(module, place / f"{name}.pt")
                pickled.append(name)
                text = " ".join(repr(module).split())
                lines.append(f"setattr(self, '{name}', torch.load(r'{place / name}.pt', weights_only=False)) # {text}")
        for made, group in (("self.register_buffer('{}', {})", self._buffers),
                            ("setattr(self, '{}', torch.nn.Parameter({}))", self._parameters)):  # fmt: skip
            for name, value in group.items():
                if value is not None:
                    lines.append(made.format(name, f"torch.empty({list(value.shape)}, dtype={value.dtype})"))
        lines.append(f"self.load_state_dict(torch.load(r'{place}/state_dict.pt'))")
        heads = imported("\n".join(["import torch", *(one.import_str for one in _custom_builtins.values())]))
        body = "".join(f"        {line}\n" for line in lines)
        text = f"{heads}\nfrom clew.nn import *\n\nclass {module_name}(torch.nn.Module):\n    def __init__(self):\n"
        text += f"        super().__init__()\n{body}{_indent(self.code)}\n"
        (place / "module.py").write_text(text.replace(_indent(self.code), self.code.replace("\n", "\n    ")))
        (place / "__init__.py").write_text("from .module import *")
        if pickled:
            warnings.warn(
                "Was not able to save the following children modules as reprs - saved as pickled files instead: "
                f"{pickled}",
                stacklevel=2,
            )

    # Text -------------------------------------------------------------------------------------------------------------

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
    ) -> str:
        """The code of this module and of the graph modules below it, with shapes that passes have noted."""
        text = self._readable(self._get_name(), include_stride=include_stride, include_device=include_device)
        if print_output:
            print(text)
        return text

    def _readable(self, name: str, **shown: bool) -> str:
        code = self.graph.python_code("self", verbose=True, **shown).src.lstrip("\n")
        parts = [f"class {name}(torch.nn.Module):\n{code}".replace("\n", "\n    ")]
        for child, module in self.named_children():
            if isinstance(module, GraphModule):
                parts.append("    " + module._readable(child, **shown).replace("\n", "\n    "))
        return "\n".join(parts) if len(parts) > 1 else parts[0]

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self._code, hint])


_WRITTEN = {getattr(clew.nn, name) for name in ("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d",
                                                "BatchNorm3d")}  # fmt: skip


def _import_block(names: dict[str, Any]) -> str:
    """Imports for these globals, as PyTorch writes them."""
    lines = set()
    for name, value in names.items():
        if name in _custom_builtins:
            lines.add(_custom_builtins[name].import_str)
            continue
        module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        public = public_name(value)
        if public is not None:
            module, _, qualified = public.rpartition(".")
        elif module is None or qualified is None:
            module, qualified = pickle.whichmodule(value, name), getattr(value, "__name__", name)  # type: ignore[attr-defined]
        lines.add(f"from {module} import {qualified} as {name}")
    return "\n".join(sorted(lines))
