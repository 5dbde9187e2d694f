"""Parameters that are functions of others: a module reads `weight`, and gets what parametrizations make of it.

A module with parametrizations has a class of its own, with a property for each parametrized tensor, and the tensors
that are learned lie in `module.parametrizations[name]`.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import clew
from clew import Tensor

from ..modules.container import ModuleDict
from ..modules.module import Module
from ..parameter import Parameter
from ._parametrization_list import ParametrizationList, append

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cached_depth = 0  # how many `cached()` blocks are open
_cache: dict[tuple[int, str], Tensor] = {}


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Within the block, compute each parametrized tensor once, when it is first read.

    Example:
        >>> parametrize = torch.nn.utils.parametrize
        >>> layer = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", torch.nn.Tanh())
        >>> with parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    global _cached_depth
    _cached_depth += 1
    try:
        yield
    finally:
        _cached_depth -= 1
        if not _cached_depth:
            _cache.clear()


def _parametrized_class(module: Module) -> type:
    """A class like the module's own; properties are put into it."""
    cls = type(module)

    def deepcopy(self: Module, memo: dict[int, Any]) -> Module:
        if id(self) not in memo:
            replica = self.__new__(type(self))
            memo[id(self)] = replica
            replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
        made: Module = memo[id(self)]
        return made

    def getstate(self: Module) -> None:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    attributes: dict[str, Any] = {"__getstate__": getstate}
    if "__deepcopy__" not in dir(cls):
        attributes["__deepcopy__"] = deepcopy
    return type(f"Parametrized{cls.__name__}", (cls,), attributes)


def _property(name: str) -> property:
    def get(module: Module) -> Tensor:
        parametrization = module.parametrizations[name]
        if not _cached_depth:
            value: Tensor = parametrization()
            return value
        key = (id(module), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def put(module: Module, value: Tensor) -> None:
        module.parametrizations[name].right_inverse(value)

    return property(get, put)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let `module.<tensor_name>` be what `parametrization` makes of the parameter or buffer that it was.

    Args:
        module: of which the tensor is a parameter or buffer, or parametrized already: then this comes after.
        parametrization: takes the tensor (or tensors) and gives the new one. If it has `right_inverse`, that gives from
            a value what the parametrization is to start from; assigning to `module.<tensor_name>` uses it, too.
        unsafe: do not check that dtype and shape stay.

    Returns:
        The module.

    Raises:
        ValueError: there is no such tensor, or dtype or shape change.

    Example:
        >>> class Symmetric(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.mT).all()), list(layer.state_dict())
        (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        append(module, tensor_name, parametrization, unsafe)
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _parametrized_class(module)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of the module is parametrized: this one, or any.

    Example:
        >>> parametrize = torch.nn.utils.parametrize
        >>> layer = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", torch.nn.Tanh())
        >>> [parametrize.is_parametrized(layer, name) for name in ("weight", "bias")]
        [True, False]
    """
    parametrizations = getattr(module, "parametrizations", None)
    if parametrizations is None or not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make `module.<tensor_name>` a parameter or buffer again.

    Args:
        leave_parametrized: with the value that it had; else the original is put back, if there is only one.

    Raises:
        ValueError: it is not parametrized, or there are several originals to be left.

    Example:
        >>> parametrize = torch.nn.utils.parametrize
        >>> layer = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", torch.nn.Tanh())
        >>> layer = parametrize.remove_parametrizations(layer, "weight")
        >>> parametrize.is_parametrized(layer)
        False
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if leave_parametrized:
        with clew.no_grad():
            value = getattr(module, tensor_name)
        original = getattr(parametrizations, parametrizations._names()[0])
        if not parametrizations.is_tensor:
            kept = Parameter(value) if isinstance(original, Parameter) else value
        else:
            kept = original
            with clew.no_grad():
                kept.data = value.clone() if value is original else value
    elif parametrizations.is_tensor:
        kept = parametrizations.original
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(kept, Parameter):
        module.register_parameter(tensor_name, kept)
    else:
        module.register_buffer(tensor_name, kept)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had without parametrizations.

    Example:
        >>> parametrize = torch.nn.utils.parametrize
        >>> layer = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", torch.nn.Tanh())
        >>> parametrize.type_before_parametrizations(layer) is torch.nn.Linear
        True
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of `from_module` (of one tensor, or of all), and their originals.

    Raises:
        AssertionError: `from_module` has none.

    Example:
        >>> parametrize = torch.nn.utils.parametrize
        >>> first = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", torch.nn.Tanh())
        >>> second = parametrize.transfer_parametrizations_and_params(first, torch.nn.Linear(2, 2))
        >>> torch.equal(first.weight, second.weight)
        True
    """
    assert is_parametrized(from_module, tensor_name), f"{from_module} has no parametrization of {tensor_name}"
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target = to_module.parametrizations[name]
        for original in source._names():
            setattr(target, original, getattr(source, original))
    return to_module
