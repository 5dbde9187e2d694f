"""What `inspect.signature` tells of operations, made from their schemas."""

from __future__ import annotations

import inspect
from typing import Any

from ._core import Operation
from ._operation import OUT

__all__ = ["signature_of"]


def signature_of(operation: Operation) -> inspect.Signature:
    """That of the only overload; of several, the first argument, which all of them share, and the rest open."""
    overloads = operation.overloads
    if len(overloads) > 1:
        shared = overloads[0]["arguments"][:1]
        same = all(overload["arguments"][:1] and _name(overload, 0) == _name(overloads[0], 0) for overload in overloads)
        return inspect.Signature(
            [
                *([_parameter(one, required=True) for one in shared] if same else []),
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )
    arguments = overloads[0]["arguments"]
    parameters = [_parameter(argument) for argument in arguments]
    if overloads[0]["flags"] & OUT and not operation.__name__.endswith("_"):
        parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


def _name(overload: dict[str, Any], position: int) -> str:
    return str(overload["arguments"][position]["name"])


def _parameter(argument: dict[str, Any], required: bool = False) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument["keyword_only"] else inspect.Parameter.POSITIONAL_OR_KEYWORD
    if required or argument["default"] is None:
        return inspect.Parameter(argument["name"], kind)
    return inspect.Parameter(argument["name"], kind, default=_default(argument["default"]))


def _default(text: str) -> Any:
    import ast

    return ast.literal_eval(text)
