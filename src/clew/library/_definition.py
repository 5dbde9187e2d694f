"""One operation of a user's: in the registry like any other, with a derivative by `register_autograd`.

The registry's definition calls the kernel, and on the device "meta" the fake. Where a gradient is asked for, the call
goes through an `autograd.Function` whose forward is that definition.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._operation import HIDDEN, NON_DIFFERENTIABLE
from ..autograd.function import Function
from ..autograd.graph import increment_version
from ..func._rules import innermost_batch, run_loop, run_rule
from ._schema import Schema

definitions: dict[str, CustomOpDef] = {}
_of_thread = threading.local()


def _autograd_kernels() -> list[CustomOpDef]:
    """The operations whose kernels for autograd run on this thread."""
    running: list[CustomOpDef] = _of_thread.__dict__.setdefault("autograd", [])
    return running


_generation: dict[str, int] = {}  # how often a name was defined: definitions in the registry stay


class CustomOpDef:
    """What `custom_op` makes of a function: callable like it, `clew.ops.<namespace>.<name>` as well."""

    def __init__(self, qualname: str, schema: Schema, *, composite: bool) -> None:
        self._qualname = qualname
        self._namespace, _, self._name = qualname.partition("::")
        self._schema = schema
        self._kernels: dict[str, Callable[..., Any]] = {}
        self._composite = composite  # without a derivative of its own it has that of what the kernel calls
        self._fake: Callable[..., Any] | None = None
        self._function: type[Function] | None = None
        self._vmap: Callable[..., Any] | None = None
        generation = _generation[qualname] = _generation.get(qualname, 0) + 1
        registered = qualname if generation == 1 else f"{qualname}@{generation}"
        outputs = " ".join(f"result{place}" for place in range(schema.returns)) if schema.returns > 1 else "result"
        said: tuple[Any, ...] = (schema.registered(registered), "", "", outputs if schema.returns else "")
        flags = HIDDEN | NON_DIFFERENTIABLE
        domain = "unsampled, 'it is a user\\'s'"
        self._operation = _core.define_operation(
            *said, flags, domain, "", "", self._run, self._infer, None, [], -1 & (2**64 - 1), 0
        )
        self.__name__ = self._name
        self.__doc__ = ""
        definitions[qualname] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _core.is_interpreted() and not self._schema.mutated and (batch := innermost_batch(args, kwargs)):
            if self._vmap is None:
                return run_loop(self, batch, args, kwargs)
            return run_rule(self._vmap, f"the vmap rule of {self._qualname}", batch, *self._arranged(args, kwargs))
        if "autograd" in self._kernels and self not in (above := _autograd_kernels()):
            above.append(self)  # which calls the operation for its other kernel
            try:
                return self._kernels["autograd"](*args, **kwargs)
            finally:
                above.pop()
        if self._records(args, kwargs):
            if self._function is not None or not self._composite:
                return _recorded(self, *self._arranged(args, kwargs))
            return self._kernel()(*args, **kwargs)
        results = self._operation(*args, **kwargs)
        return results if self._schema.returns else None

    def _records(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        if not _core.is_grad_enabled() or self._schema.mutated:
            return False
        given = [*args, *kwargs.values()]
        inner = [one for value in given if isinstance(value, list | tuple) for one in value]
        return any(isinstance(one, Tensor) and one.requires_grad for one in (*given, *inner))

    def _arranged(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by place, as far as they may be, and the rest; with defaults."""
        places, named = list(args), dict(kwargs)
        for place, argument in enumerate(self._schema.arguments):
            if argument.keyword_only:
                if argument.name not in named and argument.default is not None:
                    named[argument.name] = argument.value
            elif place == len(places):
                if argument.name in named:
                    places.append(named.pop(argument.name))
                elif argument.default is not None:
                    places.append(argument.value)
        return tuple(places), named

    def _kernel(self) -> Callable[..., Any]:
        if "cpu" not in self._kernels:
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the 'CPU' backend: expected a kernel for it, "
                f"got {', '.join(self._kernels) or 'none'}; register one with library.impl or library.register_kernel"
            )
        return self._kernels["cpu"]

    def _split(self, arguments: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
        """The registry's list of arguments, as a call."""
        pairs = list(zip(self._schema.arguments, arguments, strict=True))
        places = [value for argument, value in pairs if not argument.keyword_only]
        return places, {argument.name: value for argument, value in pairs if argument.keyword_only}

    def _run(self, *arguments: Any) -> tuple[Tensor, ...]:
        """What the registry calls for values."""
        kernel = self._kernel()
        arguments = tuple(map(_detached, arguments))
        written = [arguments[place] for place in self._schema.mutated if arguments[place] is not None]
        versions = [one._version for one in written]
        places, named = self._split(arguments)
        results = self._results(kernel(*places, **named), "its kernel")
        if not self._composite:
            self._check_aliases(arguments, results)
        for one, version in zip(written, versions, strict=True):
            if one._version == version:
                increment_version(one)
        return results

    def _infer(self, *arguments: Any) -> tuple[Tensor, ...]:
        """What the registry calls for shapes."""
        if self._fake is None:
            raise NotImplementedError(
                f"There was no fake impl registered for {self!r}. This is necessary for tensors on the device 'meta'. "
                f"Please use `{self._name}.register_fake` to add an fake impl."
            )
        places, named = self._split(arguments)
        return self._results(self._fake(*places, **named), "its fake")

    def _results(self, given: Any, who: str) -> tuple[Tensor, ...]:
        results = () if given is None else given if isinstance(given, tuple) else (given,)
        count = self._schema.returns
        if len(results) != count or not all(isinstance(one, Tensor) for one in results):
            got = ", ".join(type(one).__name__ for one in results) or "None"
            raise TypeError(
                f"{self._qualname}: expected {who} to return {count} tensor(s), as its schema says, got {got}"
            )
        return results

    def _check_aliases(self, arguments: tuple[Any, ...], results: tuple[Tensor, ...]) -> None:
        flat = [one for value in arguments for one in (value if isinstance(value, list) else [value])]
        memories = [one._storage_id for one in flat if isinstance(one, Tensor)]
        for result in results:
            if result._storage_id in memories:
                raise RuntimeError(
                    f"{self._qualname}: The output of this custom operator (1) must not also be an input to this "
                    "custom operator and (2) may not alias any inputs to this custom operator or other returns. "
                    "Return a clone() of it"
                )
            memories.append(result._storage_id)

    # ------------------------------------------------------------------------------------------------- registrations
    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Say what comes out without computing it: for tensors on "meta". `fn` returns empty tensors of the shapes."""
        self._fake = fn
        return fn

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Compute by `fn` on these devices (None: on all). Only "cpu" is ever asked."""
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        for device in ("cpu",) if device_types is None else _strings(device_types):
            self._kernels[device] = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Give it a derivative.

        Args:
            backward: `backward(ctx, *grads)` returns a gradient or None for each argument that is not keyword-only; for
                a list of tensors a list of them.
            setup_context: `setup_context(ctx, inputs, output)` keeps what `backward` needs, as in `autograd.Function`;
                with keyword-only arguments it gets `keyword_only_inputs`, too.

        Raises:
            RuntimeError: the operation writes its arguments.
        """
        if self._schema.mutated:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self!r} with schema "
                f"{self._schema.text}. Please create a functional operator and register an autograd formula for that."
            )
        self._function = _make_function(self, backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Say what it does with a batch, for `vmap`, which else calls it for each sample.

        Args:
            func: `func(info, in_dims, *args)` gets arguments with the batch, and for each the axis of its samples, or
                None; `info` has `batch_size` and `randomness`. It returns the output and the axes of its samples.

        Raises:
            RuntimeError: the operation writes its arguments.
        """
        if func is None:
            return self.register_vmap
        if self._schema.mutated:
            raise RuntimeError(f"Cannot register a vmap rule for {self!r}, which writes its arguments")
        self._vmap = func
        return func


def _detached(value: Any) -> Any:
    """What a kernel gets: without a history, so that it may be read by NumPy."""
    if isinstance(value, list):
        return [one.detach() if isinstance(one, Tensor) else one for one in value]
    return value.detach() if isinstance(value, Tensor) else value


def _strings(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


# ------------------------------------------------------------------------------------------------------------ autograd
class _Call:
    """How the flat arguments of a Function were given."""

    def __init__(self, places: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.lengths = [len(one) if isinstance(one, list | tuple) and _has_tensors(one) else None for one in places]
        self.named = named

    def flat(self, values: Sequence[Any]) -> list[Any]:
        pairs = zip(values, self.lengths, strict=True)
        return [one for value, length in pairs for one in ([value] if length is None else value or [None] * length)]

    def packed(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        rest = iter(flat)
        return tuple(next(rest) if length is None else [next(rest) for _ in range(length)] for length in self.lengths)


def _has_tensors(values: Any) -> bool:
    return any(isinstance(one, Tensor) for one in values)


def _recorded(definition: CustomOpDef, places: tuple[Any, ...], named: dict[str, Any]) -> Any:
    function = definition._function or _make_function(definition, _no_formula(definition), None)
    call = _Call(places, named)
    return function.apply(call, *call.flat(places))


def _no_formula(definition: CustomOpDef) -> Callable[..., Any]:
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            f"Trying to backward through {definition._namespace}.{definition._name}.default but no autograd formula "
            "was registered. Please use register_autograd to add one."
        )

    return backward


def _make_function(
    definition: CustomOpDef, rule: Callable[..., Any], setup: Callable[..., Any] | None
) -> type[Function]:
    def forward(call: _Call, *flat: Any) -> Any:
        return definition._operation(*call.packed(flat), **call.named)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        call, *flat = inputs
        ctx._custom_call = call
        if setup is None:
            return
        extra = {"keyword_only_inputs": call.named} if call.named else {}
        with _StructuredNeeds(ctx):
            setup(ctx=ctx, inputs=call.packed(flat), output=output, **extra)

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        with _StructuredNeeds(ctx):
            results = rule(ctx, *grads)
        if not isinstance(results, tuple):
            results = (results,)
        call: _Call = ctx._custom_call
        if len(results) != len(call.lengths):
            raise RuntimeError(
                f"{definition._qualname}: expected its backward to return {len(call.lengths)} gradients, one for each "
                f"argument, got {len(results)}; return None where there is none"
            )
        return (None, *call.flat(results))

    name = f"GeneratedBackwardFor_{definition._namespace}_{definition._name}_default"
    methods: dict[str, Callable[..., Any]] = {"forward": forward, "setup_context": setup_context, "backward": backward}
    return type(name, (Function,), {key: staticmethod(value) for key, value in methods.items()})


class _StructuredNeeds:
    """For a block, `ctx.needs_input_grad` is as the arguments were given, lists as lists."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx

    def __enter__(self) -> None:
        self._flat = self._ctx.needs_input_grad
        self._ctx.needs_input_grad = self._ctx._custom_call.packed(self._flat[1:])

    def __exit__(self, *exc_info: object) -> None:
        self._ctx.needs_input_grad = self._flat
