"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .._unsupported import missing_from

if TYPE_CHECKING:
    from ..nn import Module

__all__ = ["functional_call"]

Tensors = dict[str, Tensor]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call the module with other tensors in place of its parameters and buffers.

    Args:
        parameter_and_buffer_dicts: tensors by the names that `named_parameters` and `named_buffers` give, or several
            such dicts. What is not named stays. A buffer that the call assigns anew is found in the dict afterwards.
        args: the arguments: a tuple, or the only one.
        kwargs: those by name.
        tie_weights: a parameter that the module has under two names is replaced under both.
        strict: all names must be given, and no others.

    Raises:
        RuntimeError: with `strict`, names are missing or unknown.
        ValueError: two dicts have the same name.

    >>> import clew
    >>> layer = clew.nn.Linear(2, 1)
    >>> given = {"weight": clew.ones(1, 2), "bias": clew.zeros(1)}
    >>> clew.func.functional_call(layer, given, clew.tensor([3.0, 4.0]))
    tensor([7.])
    """
    given = _merged(parameter_and_buffer_dicts)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def _merged(dicts: Any) -> Tensors:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence) or not all(isinstance(one, dict) for one in dicts):
        raise ValueError(
            "functional_call: Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    merged: Tensors = {}
    for one in dicts:
        for name in merged.keys() & one.keys():
            raise ValueError(f"functional_call: {name} appeared in multiple dictionaries; behavior of functional call "
                             "is ambiguous")  # fmt: skip
        merged |= one
    return merged


def _state(module: Module) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


@contextmanager
def _replaced(module: Module, given: Tensors, tie_weights: bool, strict: bool) -> Iterator[None]:
    state = _state(module)
    wanted = _with_tied(state, given) if tie_weights else dict(given)
    unknown, missing = sorted(given.keys() - state.keys()), sorted(state.keys() - wanted.keys())
    if strict and (unknown or missing):
        raise RuntimeError(
            f"functional_call: expected the names of all parameters and buffers, got unexpected {unknown} and no "
            f"{missing}"
        )
    places = {}
    for name in wanted:
        owner, _, last = name.rpartition(".")
        places[name] = (vars(module.get_submodule(owner)), last)
    before = {name: values[last] for name, (values, last) in places.items() if last in values}
    for name, (values, last) in places.items():
        values[last] = wanted[name]
    try:
        yield
    finally:
        for name, (values, last) in places.items():
            if name in given:
                given[name] = values[last]
            if name in before:
                values[last] = before[name]
            else:
                del values[last]


def _with_tied(state: dict[str, Any], given: Tensors) -> Tensors:
    """Also the other names of what is given."""
    names: dict[int, list[str]] = {}
    for name, tensor in state.items():
        names.setdefault(id(tensor), []).append(name)
    wanted: Tensors = {}
    for same in names.values():
        values = {id(given[name]): given[name] for name in same if name in given}
        if len(values) > 1:
            raise ValueError(f"functional_call got multiple values for keys {same}, which are tied. Consider using "
                             "tie_weights=False")  # fmt: skip
        for value in values.values():
            wanted.update(dict.fromkeys(same, value))
    return {**wanted, **given}


__getattr__ = missing_from(__name__)
