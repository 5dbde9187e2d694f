"""`functorch`: the older names of `torch.func`, and modules as functions of their parameters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ._core import Tensor
from ._unsupported import missing_from
from .func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)
from .nn import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "make_functional",
    "make_functional_with_buffers",
    "stack_module_state",
    "vjp",
    "vmap",
]


class FunctionalModuleWithBuffers:
    """A module as a function of its parameters and buffers: `function(parameters, buffers, *args)`."""

    def __init__(self, module: Module, disable_autograd_tracking: bool = False) -> None:
        named, buffers = dict(module.named_parameters()), dict(module.named_buffers())
        self.param_names, self.buffer_names = tuple(named), tuple(buffers)
        self.stateless_model = copy.deepcopy(module).to("meta")
        tracked = [not disable_autograd_tracking and one.requires_grad for one in named.values()]
        self._parameters = tuple(
            one.detach().clone().requires_grad_(flag) for one, flag in zip(named.values(), tracked, strict=True)
        )
        self._buffers = tuple(one.detach().clone() for one in buffers.values())

    def __call__(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(self.param_names, params, strict=True)) | dict(zip(self.buffer_names, buffers, strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function of its parameters: `function(parameters, *args)`."""

    def __call__(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        return super().__call__(params, (), *args, **kwargs)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The module as a function, and copies of its parameters and of its buffers to call it with.

    Args:
        disable_autograd_tracking: the copies of parameters do not require gradients.

    Example:
        >>> import clew.functorch
        >>> f, parameters, buffers = clew.functorch.make_functional_with_buffers(clew.nn.BatchNorm1d(2).eval())
        >>> f(parameters, buffers, clew.zeros(1, 2))
        tensor([[0., 0.]], grad_fn=<NativeBatchNormBackward0>)
    """
    made = FunctionalModuleWithBuffers(model, disable_autograd_tracking)
    return made, made._parameters, made._buffers


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """The module as a function, and copies of its parameters to call it with.

    Raises:
        ValueError: the module has buffers.
    """
    if list(model.buffers()):
        raise ValueError("make_functional: the module has buffers; use make_functional_with_buffers(model)")
    made = FunctionalModule(model, disable_autograd_tracking)
    return made, made._parameters


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[Callable[..., Any], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Modules of one kind as a function for `vmap`, and their parameters and buffers, stacked."""
    parameters, buffers = stack_module_state(models)
    return FunctionalModuleWithBuffers(models[0]), tuple(parameters.values()), tuple(buffers.values())


__path__: list[str] = []  # so that `functorch.compile` is imported
__getattr__ = missing_from(__name__)
