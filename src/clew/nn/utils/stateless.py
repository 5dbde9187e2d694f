"""Calling a module with other parameters than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from clew import Tensor

from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What `module(*args, **kwargs)` gives with the tensors given in the place of those with their names.

    Args:
        parameters_and_buffers: dotted names to tensors; the module's others stay.
        args: the arguments: a tuple, or one that is no tuple.
        tie_weights: a tensor given for one name of a parameter that has several stands for all of them.
        strict: whether every parameter and buffer must be given, and nothing else.

    Raises:
        RuntimeError: `strict` and names are missing or unexpected.
        ValueError: tied names are given different tensors.

    PyTorch says that this is deprecated for `func.functional_call`, which does the same.

    Example:
        >>> import warnings
        >>> given = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
        >>> with warnings.catch_warnings(action="ignore"):
        ...     torch.nn.utils.stateless.functional_call(torch.nn.Linear(2, 1), given, torch.tensor([3.0, 4.0]))
        tensor([7.])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def call_with(
    module: Module,
    tensors: Mapping[str, Tensor],
    args: Any,
    kwargs: dict[str, Any] | None,
    *,
    tie_weights: bool,
    strict: bool,
) -> Any:
    """As `functional_call`, without its warning."""
    given = (args,) if args is not None and not isinstance(args, tuple) else args or ()
    with _replaced(module, tensors, tie_weights, strict):
        return module(*given, **(kwargs or {}))


@contextmanager
def _replaced(module: Module, tensors: Mapping[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[None]:
    """The module with other tensors, until the block ends; what it then has instead of them stays in `tensors`."""
    own = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    wanted = _with_ties(own, tensors) if tie_weights else dict(tensors)
    missing, unexpected = own.keys() - wanted.keys(), tensors.keys() - own.keys()
    if strict and (missing or unexpected):
        texts = [f"Missing key(s): {', '.join(sorted(missing))}." if missing else ""]
        texts += [f"Unexpected key(s): {', '.join(sorted(unexpected))}." if unexpected else ""]
        raise RuntimeError(f"Error(s) in {type(module).__name__}: " + " ".join(filter(None, texts)))
    places = {}
    for path in wanted:
        parent, _, name = path.rpartition(".")
        places[path] = vars(module.get_submodule(parent)), name
    before = {path: values[name] for path, (values, name) in places.items() if name in values}
    for path, (values, name) in places.items():
        values[name] = wanted[path]
    try:
        yield
    finally:
        for path, (values, name) in places.items():
            if path in tensors and tensors[path] is not values[name] and isinstance(tensors, MutableMapping):
                tensors[path] = values[name]
            if path in before:
                values[name] = before[path]
            else:
                del values[name]


def _with_ties(own: dict[str, Tensor], tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors given, also for the other names of the parameters that they stand for."""
    names: dict[Tensor, list[str]] = {}
    for name, tensor in own.items():
        names.setdefault(tensor, []).append(name)
    wanted = dict(tensors)
    for name, tensor in tensors.items():
        for other in names[own[name]] if name in own else ():
            if tensors.get(other, tensor) is not tensor:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(names[own[name]])}, which are tied. "
                    "Consider using tie_weights=False"
                )
            wanted[other] = tensor
    return wanted
