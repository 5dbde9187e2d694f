"""Functions of functions: batches, derivatives, and modules as functions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .._unsupported import missing_from
from ._gradients import grad, grad_and_value, vjp
from ._jacobians import hessian, jacfwd, jacrev
from ._tangents import jvp, linearize
from ._vmap import vmap

if TYPE_CHECKING:
    from ..nn import Module

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

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

    Example:
        >>> layer = torch.nn.Linear(2, 1)
        >>> given = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
        >>> torch.func.functional_call(layer, given, torch.tensor([3.0, 4.0]))
        tensor([7.])
    """
    from ..nn.utils.stateless import call_with

    given = _merged(parameter_and_buffer_dicts)
    return call_with(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[Tensors, Tensors]:
    """The parameters and buffers of modules of one kind, each stacked along a new first axis: for `vmap`.

    Returns:
        Two dicts by name: parameters, which are leaves, and buffers.

    Raises:
        RuntimeError: there are no modules, or they are of different kinds or modes.

    Example:
        >>> layers = [torch.nn.Linear(2, 1) for _ in range(3)]
        >>> parameters, buffers = torch.func.stack_module_state(layers)
        >>> call = lambda given, x: torch.func.functional_call(layers[0], given, (x,))
        >>> torch.vmap(call, in_dims=(0, None))(parameters, torch.ones(2)).shape
        torch.Size([3, 1])
    """
    import clew

    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    stacked = {
        name: clew.stack([one[name] for one in parameters]).detach().requires_grad_(first.requires_grad)
        for name, first in parameters[0].items()
    }
    return stacked, {name: clew.stack([one[name] for one in buffers]) for name in buffers[0]}


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` itself: derivatives and `vmap` here are right of functions that write into tensors, too.

    Args:
        remove: "mutations" or "mutations_and_views": what a tracer would no longer see.

    Raises:
        RuntimeError: another `remove`.

    Example:
        >>> double = torch.func.functionalize(lambda x: x.clone().mul_(2))
        >>> double(torch.ones(2))
        tensor([2., 2.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize: expected remove to be 'mutations' or 'mutations_and_views', got {remove!r}")

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make every batch normalization of a module forget its running statistics, in place, and give the module.

    It then uses those of the batch, which `vmap` allows.

    Example:
        >>> torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(2)).running_mean is None
        True
    """
    from ..nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


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


__getattr__ = missing_from(__name__)
