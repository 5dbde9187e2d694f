"""Defining operations: `custom_op` in one go, `Library` piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._definition import CustomOpDef, _strings, definitions
from ._namespace import OpOverload, OpOverloadPacket
from ._schema import infer_schema, parse

_Op = str | OpOverload | OpOverloadPacket | CustomOpDef


def _check_name(qualname: str, who: str) -> None:
    namespace, colons, name = qualname.partition("::")
    if not (colons and namespace.isidentifier() and name.isidentifier()):
        raise ValueError(f"{who}: expected a name such as 'mylib::scale', got {qualname!r}; give it a namespace")


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function an operation: one call to autograd and to whoever looks on, whatever it does inside.

    Args:
        name: "namespace::name".
        fn: computes the results, of tensors without history. It is a decorator if left out.
        mutates_args: the names of the arguments that it writes; they get a new version.
        device_types: on which devices it computes; by default on all.
        schema: in PyTorch's notation; by default made of the annotations.

    Raises:
        ValueError: a name without a namespace, or annotations that say no schema.

    Example:
        >>> import numpy
        >>> @clew.library.custom_op("docs::sinc", mutates_args=())
        ... def sinc(x: clew.Tensor) -> clew.Tensor:
        ...     return clew.from_numpy(numpy.sinc(x.numpy()))
        >>> sinc(clew.tensor([0.0, 0.5]))
        tensor([1.0000, 0.6366])
    """
    del tags  # they tell compilers of PyTorch's what to expect

    def define(function: Callable[..., Any]) -> CustomOpDef:
        _check_name(name, "custom_op")
        text = schema or infer_schema(function, mutates_args=mutates_args)
        made = CustomOpDef(name, parse(text, f"custom_op {name}"), composite=False)
        made.__doc__ = function.__doc__
        made.register_kernel(device_types, function)
        return made

    return define if fn is None else define(fn)


def _define(qualname: str, schema: str, who: str) -> None:
    _check_name(qualname, who)
    if qualname in definitions:
        raise RuntimeError(f"{who}: {qualname} is defined already")
    CustomOpDef(qualname, parse(schema, qualname), composite=True)


def _find(op: _Op, who: str) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, OpOverload | OpOverloadPacket):
        return op._definition
    if not isinstance(op, str):
        raise ValueError(f"{who}: expected an operation or its name, got {type(op).__name__}")
    name = op.removesuffix(".default")
    if name not in definitions:
        raise RuntimeError(f"{who}: operator {op} does not exist; define it first, by custom_op or Library.define")
    return definitions[name]


def register_fake(op: _Op, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Say what an operation gives without computing it, for tensors on "meta": empty tensors of the right shapes."""
    definition = _find(op, "register_fake")
    return definition.register_fake if func is None else definition.register_fake(func)


def register_kernel(
    op: _Op,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Compute an operation by this function on these devices."""
    return _find(op, "register_kernel").register_kernel(device_types, func)


def register_autograd(
    op: _Op,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Give an operation a derivative: see `CustomOpDef.register_autograd`.

    Example:
        >>> @clew.library.custom_op("docs::square", mutates_args=())
        ... def square(x: clew.Tensor) -> clew.Tensor:
        ...     return x * x
        >>> def keep(ctx, inputs, output):
        ...     ctx.save_for_backward(*inputs)
        >>> def backward(ctx, grad):
        ...     (x,) = ctx.saved_tensors
        ...     return grad * 2 * x
        >>> clew.library.register_autograd("docs::square", backward, setup_context=keep)
        >>> x = clew.tensor(3.0, requires_grad=True)
        >>> square(x).backward()
        >>> x.grad
        tensor(6.)
    """
    _find(op, "register_autograd").register_autograd(backward, setup_context=setup_context)


def register_vmap(op: _Op, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Say what an operation does with a batch, for `vmap`: see `CustomOpDef.register_vmap`. A decorator, too.

    Example:
        >>> @clew.library.custom_op("docs::doubled", mutates_args=())
        ... def doubled(x: clew.Tensor) -> clew.Tensor:
        ...     return x * 2
        >>> @clew.library.register_vmap("docs::doubled")
        ... def rule(info, in_dims, x):
        ...     return doubled(x), in_dims[0]
        >>> clew.vmap(doubled)(clew.ones(3))
        tensor([2., 2., 2.])
    """
    definition = _find(op, "register_vmap")
    return definition.register_vmap if func is None else definition.register_vmap(func)


_defined: dict[str, Library] = {}  # namespaces with a Library of kind "DEF"


class Library:
    """Operations of one namespace.

    Args:
        ns: the namespace.
        kind: "DEF" for the one library that defines it, "FRAGMENT" for further definitions, "IMPL" for kernels only.
        dispatch_key: what `impl` registers for, if that says nothing: "CPU", "Meta" or "" (all).

    Example:
        >>> lib = clew.library.Library("docs_lib", "DEF")
        >>> lib.define("scale(Tensor x, float by=2.0) -> Tensor")
        'scale'
        >>> lib.impl("scale", lambda x, by=2.0: x * by)
        >>> clew.ops.docs_lib.scale(clew.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}; expected DEF, IMPL or FRAGMENT")
        if kind == "DEF" and ns in _defined:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; use Library(ns, 'FRAGMENT')"
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._names: list[str] = []
        if kind == "DEF":
            _defined[ns] = self

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operation by its schema, `scale(Tensor x, float by=2.0) -> Tensor`, and return its name."""
        if self.kind == "IMPL":
            raise RuntimeError("Library.define: a library of kind IMPL has kernels only; use FRAGMENT")
        name = schema.partition("(")[0].strip()
        qualname = f"{self.ns}::{name}"
        _define(qualname, schema[len(schema.partition("(")[0]) :], "Library.define")
        self._names.append(qualname)
        return name

    def impl(
        self, op_name: str | OpOverload, fn: Callable[..., Any], dispatch_key: str = "", *, allow_override: bool = True
    ) -> None:
        """Compute an operation by `fn`; with "Meta", say its shapes.

        With "Autograd" or "AutogradCPU" each call is one of `fn`, whose operations are recorded; kernels for other keys
        are not asked.

        Raises:
            NotImplementedError: a key for another transform.
        """
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        definition = _find(name if "::" in name else f"{self.ns}::{name}", "Library.impl")
        _register(definition, dispatch_key or self.dispatch_key, fn)

    def _destroy(self) -> None:
        """Forget what it defined."""
        for name in self._names:
            definitions.pop(name, None)
        self._names = []
        if _defined.get(self.ns) is self:
            del _defined[self.ns]


def _register(definition: CustomOpDef, key: str, fn: Callable[..., Any]) -> None:
    if key == "Meta":
        definition.register_fake(fn)
    elif key in ("Autograd", "AutogradCPU"):
        definition.register_kernel("autograd", fn)
    elif key.startswith(
        ("AutogradFunctionality", "AutogradOther", "AutoDispatch", "Functionalize", "Batched", "FuncTorch")
    ):
        raise NotImplementedError(f"library.impl: the dispatch key {key} is not supported; use register_autograd")
    else:
        every = key in ("", "default", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
        definition.register_kernel("cpu" if every else key.lower(), fn)


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Define `namespace::name` by its schema, `(Tensor x) -> Tensor`. `impl` gives it kernels."""
    _define(qualname, schema, "define")


def impl(*args: Any, func: Callable[..., Any] | None = None, lib: Library | None = None) -> Any:
    """`impl(qualname, types, func)` or `impl(lib, name, key)`: compute an operation by a function. Decorators, too."""
    if isinstance(args[0], Library):
        library, name, key = (*args, "")[:3]

        def implement(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(name, function, key)
            return function

        return implement
    qualname, kinds, *rest = args
    given = rest[0] if rest else func
    definition = _find(qualname, "impl")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in _strings(kinds):
            _register(definition, kind, function)
        return function

    return register if given is None else (register(given), None)[1]
