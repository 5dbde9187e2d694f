"""`Tracer` and `symbolic_trace`: a program becomes a graph by being run on proxies."""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import functools
import inspect
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import clew
from clew import Tensor, _core

from ..nn.modules.attributes import Attributes
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..utils import _pytree as pytree
from . import graph_module
from ._codegen import _PyTreeCodeGen, _PyTreeInfo
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, base_types, map_aggregate
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = ["PH", "PHWithMeta", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_proxyable_classes: dict[type, None] = {}
_is_fx_tracing_flag = False
# Not what another tracer, in which this one runs, has put there. Tracers of libraries use these names.
_orig_module_call, _read_attribute, _ask_module = Module.__call__, object.__getattribute__, Attributes.__getattr__
FunctionType = types.FunctionType


class ScriptObject:
    """Nothing is one of these."""


def _orig_module_getattr(module: Any, name: str) -> Any:
    try:
        return _read_attribute(module, name)
    except AttributeError:
        return _ask_module(module, name)


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that changes nothing: by it, PyTorch marks what it keeps from version to version."""
    return lambda marked: marked


def is_fx_tracing() -> bool:
    """Whether a tracer is at work."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """Metaclass of classes whose construction is recorded as one node, where arguments are proxies.

    Example:
        >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
        ...     def __init__(self, left, right):
        ...         self.left, self.right = left, right
        >>> traced = torch.fx.symbolic_trace(lambda x: Pair(x, x + 1))
        >>> traced(1).right
        2
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes[cls] = None
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs) if _is_fx_tracing_flag else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class PHBase:
    """In `concrete_args`: here a placeholder is wanted."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A placeholder whose attributes become attributes of the node.

    Args:
        ph_key: what to tell it by.
    """

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


class Tracer(TracerBase):
    """Records a module or a function as a graph. Override its methods to record in another way.

    Args:
        autowrap_modules: modules of Python's whose functions are recorded as calls, wherever they are called.
        autowrap_functions: functions that are.
        param_shapes_constant: sizes of parameters are numbers, not recorded.

    Example:
        >>> class KeepsAll(torch.fx.Tracer):
        ...     def is_leaf_module(self, m, module_qualified_name):
        ...         return True
        >>> model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
        >>> [node.target for node in KeepsAll().trace(model).nodes if node.op == "call_module"]
        ['0']
    """

    root: Any
    tensor_attrs: dict[Any, str]

    def __init__(
        self,
        autowrap_modules: tuple[Any, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_function_ids = {id(function) for function in autowrap_functions} | {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        copied = object.__new__(type(self))
        for name, value in self.__dict__.items():
            # modules can't be copied
            copied.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return copied

    # What to override -------------------------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of the module is recorded as one node: by default of the modules of `torch.nn`."""
        return m.__module__.startswith(("clew.nn", "torch.nn")) and not isinstance(m, clew.nn.Sequential)

    def call_module(self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What a call of a module of the root gives."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = self.num_calls.get(path, 0)
            self.num_calls[path] = count + 1
            self.module_stack[f"{path}@{count}" if count else path] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading an attribute of a module gives: for a parameter a proxy, and else the attribute."""
        if isinstance(attr_val, Parameter):
            named = self.root.named_parameters()
        elif isinstance(attr_val, Tensor) and self.proxy_buffer_attributes:
            named = self.root.named_buffers()
        else:
            return attr_val
        for name, value in named:
            if value is attr_val:
                if name not in parameter_proxy_cache:
                    known: dict[str, Any] = {}
                    if self.param_shapes_constant and isinstance(value, Parameter):
                        known["proxy_factory_fn"] = functools.partial(ParameterProxy, self, name=name, param=value)
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **known)
                return parameter_proxy_cache[name]
        return attr_val

    def create_arg(self, a: Any) -> Argument:
        """What stands for a value in the arguments of a node.

        Raises:
            NameError: a parameter that is not the root's.
            NotImplementedError: a value that can't be in a graph.
        """
        if isinstance(a, (Tensor, Module)):
            if isinstance(a, Parameter):
                named = self.root.named_parameters()
            else:
                named = self.root.named_buffers() if isinstance(a, Tensor) else self.root.named_modules()
            for name, value in named:
                if value is a:
                    return self.create_node("get_attr", name, (), {})
            if isinstance(a, Parameter):
                raise NameError("parameter is not a member of this module")
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(map(self.create_arg, a)), {})
        if isinstance(a, (Tensor, pytree.TreeSpec)):
            base = "_tensor_constant" if isinstance(a, Tensor) else "_tree_spec_constant"
            key = a if isinstance(a, Tensor) else id(a)
            if key not in self.tensor_attrs:
                self.tensor_attrs[key] = self.get_fresh_qualname(base)
                setattr(self.root, self.tensor_attrs[key], a)
            return self.create_node("get_attr", self.tensor_attrs[key], (), {})
        if type(a) in _proxyable_classes:
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def path_of_module(self, mod: Module) -> str:
        """The name of a module in the root.

        Raises:
            NameError: it is no module of the root.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((name for name, one in self.root.named_modules() if one is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def get_fresh_qualname(self, prefix: str) -> str:
        """The first of `prefix0`, `prefix1`, ... that the root has not."""
        count = 0
        while hasattr(self.root, f"{prefix}{count}"):
            count += 1
        return f"{prefix}{count}"

    # Arguments --------------------------------------------------------------------------------------------------------

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """A function and the arguments to call it with: a proxy for each of its parameters.

        Args:
            root_fn: what is traced.
            is_module: whether its first parameter is the root.
            concrete_args: values instead of proxies, by the names of parameters (or a tuple of all).
        """
        inner = inspect.unwrap(root_fn)
        code, signature = inner.__code__, inspect.signature(inner)
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        args: list[Any] = []
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
        if isinstance(concrete_args, tuple) and concrete_args and code.co_flags & _VARIADIC and total == 1:
            for place, value in enumerate(concrete_args):
                args.append(self.create_proxy("placeholder", f"input_{place}", (), {}))
                _give_attributes(value, args[-1].node)
            return root_fn, args
        wanted = names[len(args) : total]
        if isinstance(concrete_args, tuple):
            if len(wanted) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(wanted)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(wanted, concrete_args, strict=True))
        annotations = _annotations(inner)
        args += [self._placeholder(name, concrete_args or {}, signature, annotations) for name in wanted]
        if code.co_kwonlyargcount or code.co_flags & _VARIADIC:
            rest = iter(names[total:])
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(self._placeholder(stars + next(rest), concrete_args or {}, signature, annotations))
            root_fn = _with_plain_parameters(root_fn, len(args))
        leaves, spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children_specs):
            return root_fn, args
        # Some arguments are containers: the function that is traced takes what is in them.
        codegen = _PyTreeCodeGen(_PyTreeInfo(names[:total], spec, None))
        self.graph.set_codegen(codegen)

        def flat(*flat_args: Any) -> Any:
            results, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(flat_args), spec)))
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return results

        return flat, leaves

    def _placeholder(self, name: str, concrete: dict[str, Any], signature: Any, annotations: dict[str, Any]) -> Any:
        plain = name.lstrip("*")
        default = signature.parameters[plain].default if plain == name else inspect.Parameter.empty
        defaults = () if default is inspect.Parameter.empty else (default,)
        if name not in concrete:
            return self.create_proxy("placeholder", name, defaults, {}, type_expr=annotations.get(name))
        count = 0

        def specialized(value: Any) -> Any:
            nonlocal count
            count += 1
            proxy = self.create_proxy("placeholder", f"{name}_{count}", defaults, {})
            if isinstance(value, PHBase):
                _give_attributes(value, proxy.node)
                return proxy
            told = f"{name} has been specialized to have value {value} but got another value"
            if type(value) in base_types and type(value) is not Tensor:
                self.create_proxy("call_function", _assertion(), (proxy == value, told), {})
            elif value is None:
                self.create_proxy("call_function", _assert_is_none, (proxy, told), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is "
                    "up to the user to make sure that your inputs match the inputs you specialized the function with.",
                    stacklevel=4,
                )
            return value

        return pytree.tree_map(specialized, concrete[name])

    # Tracing ----------------------------------------------------------------------------------------------------------

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of a module or a function.

        Args:
            root: the module, whose `forward` is traced, or the function.
            concrete_args: values that parameters are given instead of proxies, by their names; `fx.PH` in containers.

        Raises:
            TraceError: the program does what depends on a value: `if`, `for`.
            NameError: it calls a module that is not below the root.
        """
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            if isinstance(root, Module):
                self.root = root
                if not hasattr(type(root), self.traced_func_name):
                    raise AssertionError(
                        f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                    )
                function = getattr(type(root), self.traced_func_name)
                self.root_module_name = root._get_name()
                self.submodule_paths = {module: name for name, module in root.named_modules()}
            else:
                self.root, function = Module(), root
            self.graph = Graph(tracer_cls=type(self))
            self.tensor_attrs = {}
            for path, module in self.root.named_modules():
                for name, value in vars(module).items():
                    if isinstance(value, Tensor):
                        self.tensor_attrs[value] = f"{path}.{name}" if path else name
            if not isinstance(function, types.FunctionType):
                raise AssertionError(f"trace: expected a module or a Python function, got {type(function)}")
            found_in = function.__globals__
            traced, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
            returned = _annotations(inspect.unwrap(traced)).get("return")
            with self._patches(found_in):
                result = self.create_arg(traced(*args))
                self.create_node("output", "output", (result,), {}, type_expr=returned)
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag = before
        return self.graph

    @contextlib.contextmanager
    def _patches(self, found_in: dict[str, Any]) -> Iterator[None]:
        """While it lasts, calls of modules and reads of their attributes come here, and so do wrapped functions."""
        cache: dict[str, Any] = {}

        def reading(module: Any, name: str) -> Any:
            return self.getattr(name, _orig_module_getattr(module, name), cache)

        with _Patcher() as patcher:

            def calling(module: Any, *args: Any, **kwargs: Any) -> Any:
                scope = getattr(getattr(module, "forward", module), "__globals__", {})
                _autowrap_check(patcher, scope, self._autowrap_function_ids)
                return self.call_module(module, functools.partial(_orig_module_call, module), args, kwargs)

            patcher.patch_method(Module, "__call__", calling)
            patcher.patch_method(Module, "__getattr__", reading)
            _patch_wrapped_functions(patcher)
            for scope in (found_in, *(module.__dict__ for module in self._autowrap_search)):
                _autowrap_check(patcher, scope, self._autowrap_function_ids)
            yield


def _give_attributes(placeholder: Any, node: Any) -> None:
    if isinstance(placeholder, PHBase) and placeholder is not PH:
        for name in dir(placeholder):
            value = getattr(placeholder, name)
            if not (callable(value) or name.startswith("__") or hasattr(node, name)):
                setattr(node, name, value)


def _annotations(function: Any) -> dict[str, Any]:
    """Those of a function of the user's. PyTorch's own modules have none."""
    ours = function.__globals__.get("__name__", "").startswith("clew.")
    return {} if ours else function.__annotations__


def _with_plain_parameters(function: Any, count: int) -> types.FunctionType:
    """The function with `*args`, `**kwargs` and keyword-only parameters as ordinary ones, which proxies can be."""
    code = function.__code__
    code = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~_VARIADIC
    )
    return types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )


# Functions that are not looked into -----------------------------------------------------------------------------------

# By the place and the name of the global that has the function.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}


def wrap(fn_or_name: Any) -> Any:
    """Don't look into this function while tracing: record its call.

    Args:
        fn_or_name: the function, or the name of a global that has it, such as "len". It is a decorator, too.

    Returns:
        `fn_or_name`.

    Raises:
        NotImplementedError: it is called in a function: only a module's own code can.

    Example:
        >>> @torch.fx.wrap  # doctest: +SKIP
        ... def only_for_numbers(x):
        ...     return x if x > 0 else -x
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def _find_proxy(*searched: Any) -> Proxy | None:
    found: list[Proxy] = []
    map_aggregate(searched, lambda leaf: found.append(leaf) if isinstance(leaf, Proxy) else None)
    return found[-1] if found else None


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose calls with proxies are recorded."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return recorded


_ABSENT = object()


class _Patcher:
    """Sets globals and attributes of classes, and sets them back at the end."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: set[int] = set()
        self._done: set[tuple[int, str]] = set()

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exc_info: object) -> None:
        while self._undo:
            self._undo.pop()()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Set a global; of several functions for the same one, the first is taken."""
        if deduplicate and (id(frame_dict), name) in self._done:
            return
        self._done.add((id(frame_dict), name))
        before = frame_dict.get(name, _ABSENT)
        frame_dict[name] = new_fn

        def undo() -> None:
            if before is _ABSENT:
                del frame_dict[name]
            else:
                frame_dict[name] = before

        self._undo.append(undo)

    def patch_method(self, cls: type, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Set an attribute of a class. `__getattr__` of `Module` sees all reads of parameters, buffers and modules."""
        if cls is Module and name == "__getattr__":

            def read(module: Any, attribute: str) -> Any:
                value = _read_attribute(module, attribute)
                return new_fn(module, attribute) if isinstance(value, Tensor) else value

            self._undo.append(_look_up_plainly)
            self.patch_method(Attributes, "__getattribute__", read)
            cls = Attributes  # whose function is that of all classes with none of their own
        before = cls.__dict__.get(name, _ABSENT)
        setattr(cls, name, new_fn)
        self._undo.append(lambda: delattr(cls, name) if before is _ABSENT else setattr(cls, name, before))


def _look_up_plainly() -> None:
    """Make reads of attributes as fast as before: a change of a base class makes them slow."""
    pending = [Attributes]
    while pending:
        cls = pending.pop()
        pending += cls.__subclasses__()
        if cls.__getattr__ is Attributes.__getattr__ and cls.__getattribute__ is object.__getattribute__:
            _core.look_up_plainly(cls)


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Record calls of the functions that `wrap` named."""
    for (_, name), scope in list(_wrapped_fns_to_patch.items()):
        patcher.patch(scope, name, _recorded(scope[name] if name in scope else getattr(builtins, name)))


def _autowrap_check(patcher: _Patcher, frame_dict: Any, function_ids: set[int]) -> None:
    """Record calls of these functions where globals have them."""
    if id(frame_dict) not in patcher._seen:
        patcher._seen.add(id(frame_dict))
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and id(value) in function_ids and callable(value):
                patcher.patch(frame_dict, name, _recorded(value))


def _assertion() -> Callable[..., Any]:
    return clew._assert


@wrap
def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def symbolic_trace(root: Any, concrete_args: Any = None) -> GraphModule:
    """Record a module or a function as a graph, by running it on proxies; give a module that runs the graph.

    Args:
        root: the module or function.
        concrete_args: values for some of its parameters, to which it is then restricted; `fx.PH` inside of containers
            where values may differ.

    Raises:
        TraceError: the program does what depends on a value: `if`, `for`.

    Example:
        >>> traced = torch.fx.symbolic_trace(lambda x, twice: x * 2 if twice else x, concrete_args={"twice": True})
        >>> traced(3, True)
        6
        >>> class Layer(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.linear = torch.nn.Linear(2, 2)
        ...     def forward(self, x):
        ...         return torch.relu(self.linear(x))
        >>> print(torch.fx.symbolic_trace(Layer()).code.strip())
        def forward(self, x):
            linear = self.linear(x);  x = None
            relu = torch.relu(linear);  linear = None
            return relu
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


graph_module.default_tracer = Tracer
