"""What the optimizers share whose step is written with tensor operations, one parameter after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew
from clew import Tensor

from .groups import Params, with_gradients
from .optimizer import Optimizer, evaluate
from .options import check_not_negative, check_variants


class ComposedOptimizer(Optimizer):
    """A subclass says with what state a parameter begins and how one step changes it.

    The base counts steps, negates the gradient for `maximize` and applies `weight_decay`: it adds a multiple of the
    parameter to the gradient or, with `decoupled_weight_decay`, shrinks the parameter. With `differentiable` the
    operations are recorded, so that derivatives go through the step.
    """

    def __init__(self, params: Params, **options: Any) -> None:
        for name in ("lr", "eps", "weight_decay"):
            if not isinstance(options.get(name, 0.0), tuple):
                check_not_negative(name, options.get(name, 0.0))
        check_variants(options.get("foreach"), options.get("fused"), options.get("differentiable", False))
        super().__init__(params, options)

    def _begin(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        """The state of a parameter before its first step, but for "step"."""
        raise NotImplementedError

    def _update(self, parameter: Tensor, grad: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
        """Write the parameter and its state. Numbers in the state are used as tensors (`as_number`), never read."""
        raise NotImplementedError

    def _refuser(self) -> str:
        """Its name, or nothing if it takes sparse gradients, too."""
        return type(self).__name__

    def _first_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Tensor]:
        if not parameter.is_complex():
            return {"step": clew.tensor(0.0)} | self._begin(parameter, group)
        begun = self._begin(clew.view_as_real(parameter.detach()), group)
        shape = (*parameter.shape, 2)
        complex_ones = {
            name: clew.view_as_complex(value) if tuple(value.shape) == shape else value for name, value in begun.items()
        }
        return {"step": clew.tensor(0.0)} | complex_ones

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters; see `Optimizer.step`."""
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            with clew.set_grad_enabled(bool(group.get("differentiable"))):
                for parameter, grad in zip(*with_gradients(group, self._refuser()), strict=True):
                    self._step_one(parameter, grad, group)
        return loss

    def _step_one(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state.update(self._first_state(parameter, group))
        state["step"].add_(1)
        if parameter.is_complex():
            parameter, grad, state = as_real(parameter, grad, state)
        self._update(parameter, self._prepare(parameter, grad, group), state, group)

    def _prepare(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> Tensor:
        """What comes before `_update`: `maximize` and `weight_decay`; the gradient to go on with."""
        return negated_and_decayed(parameter, grad, group, rate_of(group))


def as_real(parameter: Tensor, grad: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Views of complex numbers as pairs of real ones, which are stepped as such, as in PyTorch."""
    views = {name: clew.view_as_real(one) if one.is_complex() else one for name, one in state.items()}
    return clew.view_as_real(parameter), clew.view_as_real(grad), views


def negated_and_decayed(parameter: Tensor, grad: Tensor, group: dict[str, Any], rate: Any) -> Tensor:
    """The gradient, negated for `maximize`; `weight_decay` adds to it, or shrinks the parameter if decoupled."""
    if group.get("maximize"):
        grad = -grad
    decay = group.get("weight_decay", 0)
    if decay == 0:
        return grad
    if not group.get("decoupled_weight_decay"):
        return grad.add(parameter, alpha=decay)
    parameter.mul_(1 - rate * decay)
    return grad


def rate_of(group: dict[str, Any]) -> Any:
    """The group's learning rate as a number; the tensor itself if derivatives are to go to it."""
    return group["lr"] if group.get("differentiable") else float(group["lr"])


def as_number(value: Tensor) -> Tensor:
    """A number of the state for arithmetic with the precision of Python's, which a kept program computes again."""
    return value.to(clew.float64, copy=True)


def copy_if_recorded(value: Tensor, group: dict[str, Any]) -> Tensor:
    """What of the state a derivative needs later: a copy if the step is recorded, as the next step overwrites it."""
    return value.clone() if group.get("differentiable") else value


def zeros_for(parameter: Tensor, *names: str) -> dict[str, Tensor]:
    """Zeros of the parameter's shape under each of these names."""
    return {name: clew.zeros_like(parameter) for name in names}
