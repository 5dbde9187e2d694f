"""Arguments of calls by the names of parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from clew._core import Operation

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def check_for_mutable_operation(target: Any, args: Any, kwargs: Any) -> None:
    """Raise where the call writes into a tensor.

    Raises:
        RuntimeError: it does.
    """
    name = getattr(target, "__name__", "")
    if "out" in kwargs or (isinstance(target, Operation) and name.endswith("_")):
        raise RuntimeError(
            f"Tried to trace mutable operation {name}. FX only supports functional code, so operations that mutate "
            "operands in-place (e.g. via `out` arguments) are not supported"
        )


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a function with defaults filled in; None where it can't be said.

    Example:
        >>> torch.fx.operator_schemas.normalize_function(torch.nn.functional.dropout, (1, 0.5)).kwargs
        {'p': 0.5, 'training': True, 'inplace': False}
    """
    forms = [target]
    if isinstance(target, Operation) and len(target.overloads) > 1:
        forms = [_signature(one) for one in target.overloads]
    for form in forms:
        try:
            signature = form if isinstance(form, inspect.Signature) else inspect.signature(form)
            return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
        except (TypeError, ValueError):
            continue
    return None


def normalize_module(
    root: Any,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a module below `root`; None where it can't be said."""
    try:
        signature = inspect.signature(root.get_submodule(target).forward)
        return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
    except (AttributeError, TypeError, ValueError):
        return None


def _signature(overload: Any) -> Any:
    """That of one form of an operation."""
    from .._signatures import _parameter

    return inspect.Signature([_parameter(one) for one in overload["arguments"]])


def _normalized(signature: inspect.Signature, args: Any, kwargs: Any, only_kwargs: bool) -> ArgsKwargsPair:
    """Raises TypeError where the arguments don't fit, or parameters have no names."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional, named = [], {}
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{name}: a parameter without a name of its own")
        plain = parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if plain and not only_kwargs:
            positional.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(positional), named)
