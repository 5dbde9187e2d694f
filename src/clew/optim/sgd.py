"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew
from clew import Tensor
from clew._core import ops, optimizer_step, sparse_made

from .adam_variants import recorded_sgd
from .groups import Params, is_sparse, with_gradients
from .optimizer import Optimizer, evaluate
from .options import check_not_negative, check_variants


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for.

    Args:
        params: parameters or groups of them.
        lr: the step size.
        momentum: the factor by which the velocity `v` lasts: `v = momentum * v + (1 - dampening) * grad`, beginning
            with the first gradient, and the step is along `v`.
        dampening: see there.
        weight_decay: a multiple of the parameter that is added to its gradient.
        nesterov: step along `grad + momentum * v` instead (Sutskever et al., 2013).
        maximize: maximize the objective instead of minimizing it.
        differentiable: record the step, so that derivatives go through it.
        foreach, fused: accepted; every other step is fused.

    Raises:
        ValueError: an option is out of range, or `nesterov` without momentum or with dampening.

    Example:
        >>> weight = torch.nn.Parameter(torch.tensor([2.0]))
        >>> optimizer = torch.optim.SGD([weight], lr=0.25)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        Parameter containing:
        tensor([1.], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_not_negative("lr", lr)
        check_not_negative("momentum", momentum)
        check_not_negative("weight_decay", weight_decay)
        check_variants(foreach, fused, differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters; see `Optimizer.step`."""
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            params, grads = with_gradients(group)
            if sparse_made() and any(map(is_sparse, grads)):
                params, grads = self._step_sparse(group, params, grads)
            if group["differentiable"]:
                for parameter, grad in zip(params, grads, strict=True):
                    recorded_sgd(parameter, grad, self.state[parameter] if group["momentum"] else {}, group)
            elif group["momentum"] == 0:
                _update(group, params, grads, None, False)
            else:
                self._step_with_momentum(group, params, grads)
        return loss

    def _step_sparse(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """A step for parameters whose gradient is sparse; gives back the others and their gradients."""
        if group["weight_decay"] != 0:
            raise RuntimeError("SGD: weight_decay option is not compatible with sparse gradients")
        dense: tuple[list[Tensor], list[Tensor]] = [], []
        for parameter, given in zip(params, grads, strict=True):
            if not is_sparse(given):
                dense[0].append(parameter)
                dense[1].append(given)
                continue
            with clew.no_grad():
                grad, momentum = (-given if group["maximize"] else given), group["momentum"]
                if momentum:
                    velocity = self.state[parameter].get("momentum_buffer")
                    velocity = grad if velocity is None else velocity * momentum + grad * (1 - group["dampening"])
                    self.state[parameter]["momentum_buffer"] = velocity = velocity.coalesce().clone()
                    grad = grad + velocity * momentum if group["nesterov"] else velocity
                parameter.add_(grad, alpha=-float(group["lr"]))
        return dense

    def _step_with_momentum(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]) -> None:
        buffers, has_fresh = [], False
        for parameter in params:
            buffer = self.state[parameter].get("momentum_buffer")
            has_fresh = has_fresh or buffer is None
            buffers.append(buffer)
        if has_fresh:
            self._begin_some(group, params, grads, buffers)
        else:
            _update(group, params, grads, buffers, False)

    def _begin_some(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor], buffers: list[Tensor | None]
    ) -> None:
        """A step in which some parameters have no buffer yet; they get one."""
        fresh = [index for index, buffer in enumerate(buffers) if buffer is None]
        known = [index for index, buffer in enumerate(buffers) if buffer is not None]
        for index in fresh:
            buffers[index] = self.state[params[index]]["momentum_buffer"] = clew.zeros_like(params[index])
        for part, first in [(fresh, True), (known, False)]:
            _update(group, _pick(params, part), _pick(grads, part), _pick(buffers, part), first)


def _pick(values: list[Any], indices: list[int]) -> list[Any]:
    return [values[index] for index in indices]


def _update(
    group: dict[str, Any], params: list[Tensor], grads: list[Tensor], buffers: list[Any] | None, first: bool
) -> None:
    """One native call for all `params`; `first`: the buffers are empty and take the gradient."""
    if params:
        optimizer_step(
            ops.sgd_step,
            params,
            grads,
            buffers,
            float(group["lr"]),
            group["momentum"],
            group["dampening"],
            group["weight_decay"],
            group["nesterov"],
            group["maximize"],
            first,
        )
